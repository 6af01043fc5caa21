# ruff: noqa: E501 - a table with one row a tool
"""Define the 74 tools of AgentDojo as Hearth's guard needs them: effect, types, sinks, and sources of results.

The data have one row per tool. A parameter is `name:type`, with `!` for a sink and `?` for one that may be left out; a
field of a result is `name:type`, with `@source` if its source is not the tool's own. Descriptions are AgentDojo's, read
when it is loaded.

Sources are assigned strictly: a mail, a Slack message and a page are strangers' words, metadata included; only the id
is this device's. AgentDojo's contact list fills itself from the senders of incoming mail, so its cards are strangers'
words too, unless the owner has written to the address. Calendar, files and bank records are the owner's own; a record
made by somebody else (a file's owner, a payment's sender) still counts as incoming
(`hearth.guard.policy.request_words`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hearth.types import Effect, FieldOrigin, Parameter, ToolSpec

_MAIL = (
    "id_:MailId@device sender:EmailAddress recipients:list[EmailAddress] cc:list[EmailAddress] "
    "bcc:list[EmailAddress] subject:text body:text timestamp:datetime"
)
_EVENT = "id_:EventId title:text description:text start_time:datetime end_time:datetime location:text "
_EVENT += "participants:list[EmailAddress]"
_FILE = "id_:FileId filename:text content:text owner:EmailAddress last_modified:datetime "
_FILE += "shared_with:list[EmailAddress] size:integer"
_PAYMENT = "id:TransactionId sender:Account recipient:Account amount:number subject:text date:date recurring:boolean"
_CARD = "email:EmailAddress@message name:PersonName@message"
_SENT = "recipients:list[EmailAddress]! subject:text body:text attachments:list[any]? cc:list[EmailAddress]!? "
_SENT += "bcc:list[EmailAddress]!?"
_NEW_EVENT = "title:text start_time:datetime end_time:datetime description:text? participants:list[EmailAddress]!? "
_NEW_EVENT += "location:text?"

_ROWS: Mapping[str, str] = {
    "workspace": f"""
send_email | send | device | Mail | {_MAIL} | {_SENT}
delete_email | change | device | text | | email_id:MailId
get_unread_emails | none | message | list[Mail] | {_MAIL} |
get_sent_emails | none | message | list[Mail] | {_MAIL} |
get_received_emails | none | message | list[Mail] | {_MAIL} |
get_draft_emails | none | message | list[Mail] | {_MAIL} |
search_emails | none | message | list[Mail] | {_MAIL} | query:text sender:EmailAddress?
search_contacts_by_name | none | contacts | list[Card] | {_CARD} | query:text
search_contacts_by_email | none | contacts | list[Card] | {_CARD} | query:text
get_current_day | none | device | date | |
search_calendar_events | none | device | list[Event] | {_EVENT} | query:text date:date?
get_day_calendar_events | none | device | list[Event] | {_EVENT} | day:date
create_calendar_event | send | device | Event | {_EVENT} | {_NEW_EVENT}
cancel_calendar_event | send | device | text | | event_id:EventId
reschedule_calendar_event | send | device | Event | {_EVENT} | event_id:EventId new_start_time:datetime new_end_time:datetime?
add_calendar_event_participants | send | device | Event | {_EVENT} | event_id:EventId participants:list[EmailAddress]!
append_to_file | change | device | File | {_FILE} | file_id:FileId content:text
search_files_by_filename | none | device | list[File] | {_FILE} | filename:text
create_file | change | device | File | {_FILE} | filename:text content:text
delete_file | change | device | File | {_FILE} | file_id:FileId
get_file_by_id | none | device | File | {_FILE} | file_id:FileId
list_files | none | device | list[File] | {_FILE} |
share_file | send | device | File | {_FILE} | file_id:FileId email:EmailAddress! permission:text=r,rw
search_files | none | device | list[File] | {_FILE} | query:text
""",
    "banking": f"""
get_iban | none | device | Account | |
send_money | send | device | text | | recipient:Account! amount:Money subject:text date:date
schedule_transaction | send | device | text | | recipient:Account! amount:Money subject:text date:date recurring:boolean
update_scheduled_transaction | send | device | text | | id:TransactionId recipient:Account!? amount:Money? subject:text? date:date? recurring:boolean?
get_balance | none | device | number | |
get_most_recent_transactions | none | device | list[Payment] | {_PAYMENT} | n:integer?
get_scheduled_transactions | none | device | list[Payment] | {_PAYMENT} |
read_file | none | file | text | | file_path:FilePath
get_user_info | none | device | OwnerDetails | first_name:text last_name:text street:PostalAddress city:PostalAddress |
update_password | change | device | text | | password:Secret
update_user_info | change | device | text | | first_name:text!? last_name:text!? street:PostalAddress!? city:PostalAddress!?
""",
    "slack": """
get_channels | none | device | list[Handle] | |
add_user_to_channel | send | device | none | | user:Handle! channel:Handle!
read_channel_messages | none | message | list[Message] | sender:Handle recipient:Handle body:text | channel:Handle
read_inbox | none | message | list[Message] | sender:Handle recipient:Handle body:text | user:Handle
send_direct_message | send | device | none | | recipient:Handle! body:text
send_channel_message | send | device | none | | channel:Handle! body:text
get_users_in_channel | none | device | list[Handle] | | channel:Handle
invite_user_to_slack | send | device | none | | user:Handle! user_email:EmailAddress!
remove_user_from_slack | change | device | none | | user:Handle!
get_webpage | none | web | text | | url:Url
post_webpage | send | device | none | | url:Url content:text
""",
    "travel": f"""
get_user_information | none | device | OwnerDetails | email:EmailAddress phone_number:PhoneNumber address:PostalAddress |
get_all_hotels_in_city | none | device | list[HotelName] | | city:text
get_hotels_prices | none | device | list[Hotel] | name:HotelName price:number | hotel_names:list[HotelName]
get_rating_reviews_for_hotels | none | device | list[Hotel] | name:HotelName rating:number reviews:text@message | hotel_names:list[HotelName]
get_hotels_address | none | device | list[Hotel] | name:HotelName address:PostalAddress | hotel_name:HotelName
get_all_restaurants_in_city | none | device | list[RestaurantName] | | city:text
get_cuisine_type_for_restaurants | none | device | list[Restaurant] | name:RestaurantName cuisine:text | restaurant_names:list[RestaurantName]
get_restaurants_address | none | device | list[Restaurant] | name:RestaurantName address:PostalAddress | restaurant_names:list[RestaurantName]
get_rating_reviews_for_restaurants | none | device | list[Restaurant] | name:RestaurantName rating:number reviews:text@message | restaurant_names:list[RestaurantName]
get_dietary_restrictions_for_all_restaurants | none | device | list[Restaurant] | name:RestaurantName diet:text | restaurant_names:list[RestaurantName]
get_contact_information_for_restaurants | none | device | list[Restaurant] | name:RestaurantName contact:text | restaurant_names:list[RestaurantName]
get_price_for_restaurants | none | device | list[Restaurant] | name:RestaurantName price:number | restaurant_names:list[RestaurantName]
check_restaurant_opening_hours | none | device | list[Restaurant] | name:RestaurantName hours:text | restaurant_names:list[RestaurantName]
get_all_car_rental_companies_in_city | none | device | list[CompanyName] | | city:text
get_car_types_available | none | device | list[Company] | name:CompanyName types:list[text] | company_name:list[CompanyName]
get_rating_reviews_for_car_rental | none | device | list[Company] | name:CompanyName rating:number reviews:text@message | company_name:list[CompanyName]
get_car_fuel_options | none | device | list[Company] | name:CompanyName fuel:list[text] | company_name:list[CompanyName]
get_car_rental_address | none | device | list[Company] | name:CompanyName address:PostalAddress | company_name:list[CompanyName]
get_car_price_per_day | none | device | list[Company] | name:CompanyName price:number | company_name:list[CompanyName]
create_calendar_event | send | device | Event | {_EVENT} | {_NEW_EVENT}
search_calendar_events | none | device | list[Event] | {_EVENT} | query:text date:date?
get_day_calendar_events | none | device | list[Event] | {_EVENT} | day:date
cancel_calendar_event | send | device | text | | event_id:EventId
reserve_hotel | send | device | text | | hotel:HotelName! start_day:date end_day:date
reserve_car_rental | send | device | text | | company:CompanyName! start_time:datetime end_time:datetime?
reserve_restaurant | send | device | text | | restaurant:RestaurantName! start_time:datetime
get_flight_information | none | device | text | | departure_city:text arrival_city:text
send_email | send | device | Mail | {_MAIL} | {_SENT}
""",
}


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    effect: Effect
    source: str
    returns: str
    fields: Mapping[str, str]
    origins: Mapping[str, FieldOrigin]
    parameters: tuple[Parameter, ...]


def tool_specs(suite: str, descriptions: Mapping[str, str]) -> dict[str, ToolSpec]:
    """Return the tools of `suite` by name, with AgentDojo's own `descriptions`.

    Raises:
        ValueError: The installed AgentDojo has other tools than those described here.
    """
    rows = {row.name: row for row in map(_row, filter(None, _ROWS[suite].strip().split("\n")))}
    if rows.keys() != descriptions.keys():
        raise ValueError(f"{suite}: described are other tools than AgentDojo has: {rows.keys() ^ descriptions.keys()}")
    return {
        name: ToolSpec(
            name,
            descriptions[name],
            row.parameters,
            row.returns,
            row.fields,
            row.effect,
            row.source,
            origins=row.origins,
        )
        for name, row in rows.items()
    }


def _row(line: str) -> _Row:
    name, effect, source, returns, fields, parameters = (cell.strip() for cell in line.split("|"))
    kinds: dict[str, str] = {}
    origins: dict[str, FieldOrigin] = {}
    for one in fields.split():
        field_name, _, rest = one.partition(":")
        kinds[field_name], _, field_source = rest.partition("@")
        if field_source:
            origins[field_name] = FieldOrigin(field_source, made_of=())
    known: Mapping[str, Effect] = {"none": "none", "change": "change", "send": "send"}
    return _Row(name, known[effect], source, returns, kinds, origins, tuple(map(_parameter, parameters.split())))


def _parameter(text: str) -> Parameter:
    name, _, rest = text.partition(":")
    rest, _, choices = rest.partition("=")
    kind = rest.rstrip("!?")
    return Parameter(
        name,
        kind,
        is_required="?" not in rest,
        enum=tuple(choices.split(",")) if choices else (),
        is_sink="!" in rest,
    )
