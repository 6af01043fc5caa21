"""The page that lets phones in and takes them out, what a phone sees on its way in, and its notifications.

A phone installs the home's authority first, so that its browser knows whom it speaks to, and comes in by an invitation
after that. Phones are managed at the machine itself alone: a phone sees only itself there.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from urllib.parse import urlsplit

import segno
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from hearth.errors import DeniedError, HearthError, NotFound, RequestError
from hearth.serve.pages.page_parts import Templates, field, fields, is_phone, number_in
from hearth.serve.phones.paired import Invitations, Phone, Phones, Subscription
from hearth.serve.phones.phone_server import Authority
from hearth.serve.phones.pushing import Pusher, bytes64

PHONE_COOKIE = "__Host-hearth-phone"
OPEN = ("/pair", "/authority", "/hearth-authority.crt")
"""What a phone sees before it is let in."""
_YEAR_S = 31_536_000
_MOST_ENDPOINT = 1000


@dataclass(frozen=True, slots=True)
class Way:
    """How phones come here."""

    addresses: tuple[str, ...]
    """Names with port, the likeliest first: `192.168.1.20:8471`."""
    authority: Authority
    pusher: Pusher
    allows: Callable[[str], bool]
    """Whether the owner allowed a host to be reached."""

    @property
    def address(self) -> str:
        """`https://192.168.1.20:8471`"""
        return f"https://{self.addresses[0]}"


class PhonePages:
    """The routes for phones; without a way for them, one page that says how to open it."""

    def __init__(self, templates: Templates, phones: Phones, now: Callable[[], dt.datetime], way: Way | None) -> None:
        self._templates = templates
        self._phones = phones
        self._now = now
        self._way = way
        self.invitations = Invitations(lambda: now().timestamp())

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            Route("/phones", self.listed),
            Route("/phones/invite", self.invite, methods=["POST"]),
            Route("/phones/revoke", self.revoke, methods=["POST"]),
            Route("/phones/subscribe", self.subscribe, methods=["POST"]),
            Route("/phones/try", self.try_out, methods=["POST"]),
            Route("/pair", self.pair, methods=["GET", "POST"]),
            Route("/authority", self.authority),
            Route("/hearth-authority.crt", self.certificate),
            Route("/worker.js", self.worker),
        ]

    # ── At the machine itself ─────────────────────────────────────────────────────────────────────────────

    async def listed(self, request: Request) -> Response:
        """List the phones; to a phone, itself."""
        own: Phone | None = request.scope.get("hearth.phone")
        phones = [] if own else self._phones.listed()
        key = self._way.pusher.public_key if self._way and own else ""
        return self._templates.page("phones.html", "Phones", own=own, phones=phones, way=self._way, push_key=key)

    async def invite(self, request: Request) -> Response:
        """Open an invitation, shown as pictures for the phone's camera."""
        way = self._managing(request)
        code = self.invitations.invite()
        links = (f"{way.address}/authority", f"{way.address}/pair?code={code}")
        pictures = [
            segno.make(link, micro=False).svg_data_uri(scale=4, border=2, dark="#000", light="#fff") for link in links
        ]
        known_by = way.authority.fingerprint
        return self._templates.piece("invitation.html", links=links, pictures=pictures, fingerprint=known_by)

    async def revoke(self, request: Request) -> Response:
        """Take a phone out: at the machine any, on a phone itself."""
        number = number_in(await field(request, "number"))
        own: Phone | None = request.scope.get("hearth.phone")
        if number is None or (own is not None and own.number != number):
            raise NotFound("no such phone; reload the page")
        phone = self._phones.revoke(number)
        return JSONResponse({"says": f"{phone.name} is let in no more."})

    # ── On the phone ──────────────────────────────────────────────────────────────────────────────────────

    async def authority(self, request: Request) -> Response:
        """Say how the phone comes to know this home."""
        way = self._arriving(request)
        return self._templates.page("authority.html", "This home", fingerprint=way.authority.fingerprint)

    async def certificate(self, request: Request) -> Response:
        """Hand out the authority's certificate."""
        head = {"content-disposition": 'attachment; filename="hearth-authority.crt"'}
        return Response(self._arriving(request).authority.pem, media_type="application/x-x509-ca-cert", headers=head)

    async def pair(self, request: Request) -> Response:
        """Let a phone in that shows an open invitation, and give it its key."""
        self._arriving(request)
        if request.method == "GET":
            code = request.query_params.get("code", "")
            is_open = self.invitations.is_open(code)
            return self._templates.page("pair.html", "Come in", code=code, is_open=is_open)
        given = await fields(request)
        if not self.invitations.is_open(given.get("code", "")):
            raise DeniedError("this invitation is over; make a new one at the computer")
        key = self._phones.add(given.get("name", ""), self._now())
        self.invitations.close()
        answer = JSONResponse({"goto": "/phones"})
        answer.set_cookie(PHONE_COOKIE, key, max_age=_YEAR_S, httponly=True, secure=True, samesite="strict")
        return answer

    async def subscribe(self, request: Request) -> Response:
        """Note where this phone takes notifications, or that it wants none."""
        phone: Phone | None = request.scope.get("hearth.phone")
        if phone is None or self._way is None:
            raise DeniedError("notifications are turned on at a phone that was let in")
        given = await fields(request)
        if not given.get("endpoint"):
            self._phones.subscribe(phone.number, None)
            return JSONResponse({"says": "No notifications here any more."})
        subscription = _read(given)
        host = urlsplit(subscription.endpoint).hostname or ""
        if not self._way.allows(host):
            raise RequestError(
                f"notifications of this browser go through {host!r}, encrypted; allow it at the computer first, under "
                f'[network] of hearth.toml: allow = ["{host}"], and start `hearth up` again'
            )
        self._phones.subscribe(phone.number, subscription)
        self._way.pusher.try_out()
        return JSONResponse({"says": "Notifications are on: one comes now."})

    async def try_out(self, request: Request) -> Response:
        """Send every phone a notification."""
        self._managing(request).pusher.try_out()
        return JSONResponse({"says": "Sent."})

    async def worker(self, request: Request) -> Response:  # noqa: ARG002 - every route is handed the request
        """The script that shows notifications: from the root, so that it may open every page."""
        text = (files("hearth.serve") / "static" / "worker.js").read_text()
        return Response(text, media_type="text/javascript")

    def _managing(self, request: Request) -> Way:
        """Raises: DeniedError: From a phone. HearthError: No phones here."""
        if is_phone(request):
            raise DeniedError("phones are let in and out at the computer itself")
        if self._way is None:
            raise HearthError("phones are not let in here; set `phones_port` under [serve] in hearth.toml")
        return self._way

    def _arriving(self, request: Request) -> Way:
        """Raises: NotFound: Not at the entrance for phones."""
        if self._way is None or "hearth.phones" not in request.scope:
            raise NotFound("this page is for phones; scan the picture on the page Phones")
        return self._way


def _read(given: dict[str, str]) -> Subscription:
    """Raises: RequestError: It is no subscription."""
    endpoint, key, secret = (given.get(name, "") for name in ("endpoint", "key", "secret"))
    try:
        place = urlsplit(endpoint)
        is_good = place.scheme == "https" and bool(place.hostname) and len(endpoint) <= _MOST_ENDPOINT
        is_good = is_good and (len(bytes64(key)), len(bytes64(secret))) == (65, 16)
    except ValueError:
        is_good = False
    if not is_good:
        raise RequestError("that is no subscription of a browser; turn notifications on again")
    return Subscription(endpoint, key, secret)
