"""Requests as they are meant: corrections, the thing that a remark is about, tags."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.language.discourse.plain_request import plainly


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("forward it to Ana's... no, to Bruno", "forward it to Bruno"),
        ("mail Ida what's on the packing list", "email Ida the packing list"),
        ("any post this morning", "any mail this morning"),
        ("anything in the post today?", "anything in the mail today?"),
        ("did I get any post from Ida", "did I get any mail from Ida"),
        ("has the post come yet", "has the mail come yet"),
        ("what came in the post", "what came in the mail"),
        ("what was in the post yesterday", "what was in the mail yesterday"),
        ("let Ida know what's on the camping list please", "email Ida the camping list"),
        ("send Bo everything on the shopping list", "send Bo the shopping list"),
        ("text Ida what's in the gift ideas note", "email Ida the gift ideas"),
        ("Call... no, email Greta that I'm late", "email Greta that I'm late"),
        ("what's my gardenia, no gardenclub number", "what's my gardenclub number"),
        ("book the vet on Tuesday, no, Wednesday at nine", "book the vet on Wednesday at nine"),
        ("call Ida at 10, no make it 9 and tell Bo it's done", "call Ida at 9 and tell Bo it's done"),
        ("remind me at five, sorry, six", "remind me at six"),
        ("a timer for ten, no wait, fifteen minutes", "a timer for fifteen minutes"),
        ("mail both moiras, no sorry just moira berg, that tea is at 4", "mail moira berg, that tea is at 4"),
        ("text all of the Moiras, no only Moira Berg, that tea is at 4", "text Moira Berg, that tea is at 4"),
        ("lunch on Monday, no sorry, Tuesday", "lunch on Tuesday"),
        ("text Bo and Ida, no just Ida, that I'm late", "text Bo and Ida, no just Ida, that I'm late"),
        ("email that to both moiras, no just moira berg", "email that to moira berg"),
        ("text Bo that I have eggs, no just milk", "text Bo that I have eggs, no just milk"),
        ("text Bo I have eggs, no just milk", "text Bo I have eggs, no just milk"),
        ("tell Bo: take two, no only one", "tell Bo: take two, no only one"),
        ("email Ida that I'm free all week, no just Tuesday", "email Ida that I'm free all week, no just Tuesday"),
        ("I've got the paint, you can take it off the list.", "take the paint off the list"),
        ("Bought the rope, cross it off", "cross the rope off"),
        ("got the pegs so cross em off", "cross the pegs off"),
        ("rope is bought, tick it on the camping list", "tick rope off the camping list"),
        ("tick off the rope on my camping list", "tick the rope off my camping list"),
        ("check off the rope on my camping list", "check the rope off my camping list"),
        ("check the rope off on my camping list", "check the rope off my camping list"),
        ("ida can't do Tuesday anymore, shift her to Friday at 2", "shift ida to Friday at 2"),
        ("Ida Berg's ill - move her lesson to Friday", "move Ida Berg's lesson to Friday"),
        ("Ida can't make it tomorrow, move her to 3", "move Ida to 3"),
        ("make a new list for the hen do: sashes, a bus", 'add sashes, a bus to the "hen do" list'),
        ("make a list called to do for easter with cards", 'add cards to the "to do for easter" list'),
        ("make a list called to pack: socks", 'add socks to the "to pack" list'),
        ("start a list for camping: tent, stove", "add tent, stove to the camping list"),
        ("Door hinges. Ordered. Tick that off", "tick Door hinges off"),
        ("It's freezing in here. Put the heating up to 21, would you?", "Put the heating up to 21"),
        ("turn the fan off and the hall lamp on", "turn the fan off and turn the hall lamp on"),
        ("turn everything off downstairs, we're heading out", "turn everything off downstairs"),
        ("lock the shed, the kids are asleep!", "lock the shed"),
        ("turn the tv up, cant hear a thing", "turn the volume of the tv up by 10 percent"),
        ("close the blinds, cos it's too bright in here", "close the blinds"),
        ("lights off, we're leaving", "lights off"),
        ("heating up to 21 and turn the landing light off", "turn heating up to 21 and turn the landing light off"),
        ("lights off and lock the door", "turn lights off and lock the door"),
        ("add gin to the list - nah just put beer for Ida on the party list", "put beer for Ida on the party list"),
        ("remind me at five, no wait, just set a timer for ten minutes", "set a timer for ten minutes"),
        ("when is the drill... no sorry, what was the gate code", "what was the gate code"),
        ("is Ida in on friday? actually, where is the sewing bee", "where is the sewing bee"),
        ("sewing bee is in the back room now, change it please", "sewing bee is in the back room from now on"),
        ("the drill's at Moll's instead, can you change that", "the drill is at Moll's from now on"),
        ("the spare fob is in the tea caddy now, change it", "the spare fob is in the tea caddy from now on"),
        ("the drill is at Moll's now, change it", "the drill is at Moll's from now on"),
        ("change the venue of the drill to the gym", "the drill is at the gym from now on"),
        ("please update the location for sewing bee to Zoom.", "sewing bee is at Zoom from now on"),
        ("her birthdays 3rd of June 2009", "her birthday is 3rd of June 2009"),
        ("the bread is gone, put it on the list", "put the bread on the list"),
        ("write ann: the bread is gone, put it on the list", "write ann: the bread is gone, put it on the list"),
        ("move it to monday dinner time", "move it to monday dinnertime"),
        ("put in the diary chess with Ida friday at 3", "put in the diary: chess with Ida friday at 3"),
        ("whose bday is in May", "whose birthday is in May"),
        ("start a list called beach with towels and a spade on it", "add towels and a spade to the beach list"),
        ("can't remember, did I send Ana the quote", "did I send Ana the quote"),
        (
            "cross off rope and pop pegs on my camping list",
            "take rope off my camping list and add pegs to my camping list",
        ),
        (
            "remove rope, add two pegs to the camping list please",
            "take rope off the camping list and add two pegs to the camping list",
        ),
        (
            "tick the rope off the first aid list and add lint",
            "take the rope off the first aid list and add lint to the first aid list",
        ),
        (
            "knock rope off the camping list then put pegs on it",
            "take rope off the camping list and add pegs to the camping list",
        ),
        (
            "put pegs on the camping list and scratch off rope",
            "add pegs to the camping list and take rope off the camping list",
        ),
        (
            "add pegs and strike rope off the camping list",
            "add pegs to the camping list and take rope off the camping list",
        ),
        ("look up the lease from Ida and tell me when its up", "when is the lease from Ida up"),
        ("please find the gas bill and let me know how much it was", "how much was the gas bill"),
        ("open my gym contract, then tell me when it runs out", "when does my gym contract run out"),
        ("dig out Ida's letter and say when the deadline is", "when is the deadline in Ida's letter"),
    ],
)
def test_what_is_meant(said: str, meant: str) -> None:
    assert plainly(said).lower() == meant.lower()


@pytest.mark.parametrize(
    "said",
    [
        "add decaf coffee, no sugar to the list",
        "the drill is at 5 now so move it",
        "the soup is nice, make it again",
        "what did Ida say, is she coming",
        "tell Ida no, sorry, what time would suit",
        "is the gate open, no",
        "turn the tv off and go to bed",
        "turn the heater on, it's in the office",
        "turn the lamp off, not the fan",
        "turn the lights off, we're leaving at 6",
        "turn the radio down, the kids are asleep and lock the door",
        "make a note, the kids are asleep",
        "tell Ana I'm late, the kids are asleep",
        "I can't remember my locker number",
        "turn the radio on and off",
        "put milk, no sugar, and eggs on the list",
        "No, Friday",
        "Actually, make that eleven",
        "No choir for Ida tonight, the teacher is ill, take it off",
        "The radio in the den is far too loud, put it at twenty percent.",
        "whose birthdays are in June",
        "is the heating up to date",
        "put milk on the list and no bread",
        "make a list for me with milk on it",
        "she can't do Tuesday, shift her to Friday",
        "Ida is ill, tell her to rest",
        "Ida is allergic to nuts, put her on the guest list",
        "ida can't come, is her lesson moved?",
        "write plasters and tick tweezers onto the first aid list",
        "put tick powder on the garden list",
        "Ana said Ida can't make it tomorrow, move her to 3",
        "Ana says Ida is sick, move her to friday",
        "ana thinks ida is sick, move her to friday",
        "Ana's ill and Ida's away, move her to friday",
        "Ana can't do Ida's lesson, move her to friday",
        "Ana can't come to Ida, move her to friday",
        "Ana can't take ida tomorrow, move her to friday",
        "Ana's dog is ill, move her to friday",
        "Ana wants Ida on friday, move her to 3",
        "Nothing is on monday, move their slot",
        "Everyone's away, move their lesson to 3",
        "Nobody can come, move them to 3",
        "Traffic is bad, move her to 3",
        "friday is off, move her to 3",
        "make a list to pack with socks",
        "make a list called with socks",
        "check rope is on the camping list",
        "check that rope is on the camping list",
        "check the rope on the camping list",
        "check what's on the camping list",
        "check gifts on the party list",
        "check off what we have on the camping list",
        "tick if rope is on the camping list",
        "turn the lights off and lock the door",
        "tell Ben sorry, I'm late",
        "remind me to water the plants, they are dry, and set it for six",
        "what's on tomorrow, is it busy",
        "the drill is at noon now, change it",
        "the drill is at 9 now, change it",
        "the drill is at lunchtime, change it",
        "the drill is in the morning now, change it",
        "the drill is at half 8 on friday, change it",
        "change the location of the drill to 9am",
        "change the venue of the drill to friday at noon",
        "it's in the shed, change it",
        "change the venue of the drill to be confirmed",
        "change the place of the drill to the gym and mail Ida",
        "would you?",
        "tick rope off the camping list and add a reminder to pack",
        "tick rope off the camping list and put the kettle on",
        "take it off and add pegs to the camping list",
        "tick off the reminder and add pegs to the camping list",
        "add rope and pegs to the camping list",
        "take rope off the camping list and add pegs to the party list",
        "find the lease and tell Ida when it ends",
        "post the poster on Monday",
        "what did the post office say",
        "the post on Instagram from Ida",
        "remind me to check the post on Friday",
        "is the fence post in",
        "tell me what's on the packing list",
        "mail Ida what's on tomorrow",
        "tell Ida what's on the packing list is wrong",
        "ask Ida what's on the packing list",
        "find the lease and tell me what it says",
        "find the lease and tell me what its price might be",
        "find a plumber and tell me when he comes",
        "It's 21 degrees. Set it to 20",
        "",
        "... no, no, no",
        "open the garage door and tell me when it's open",
        "pull up the blinds and tell me what the temperature is",
    ],
)
def test_what_is_plain_already_stays(said: str) -> None:
    assert plainly(said) == said


@given(st.text(alphabet="ab ,.no'…-?!sorry Tuesday", max_size=300))
def test_any_text_is_read_and_nothing_is_invented(said: str) -> None:
    words = said.split()
    assert all(word.strip(".,!?;") in said for word in plainly(said).split())
    assert len(plainly(said).split()) <= len(words) + 1


def test_a_long_text_is_read_in_time_in_step_with_its_size() -> None:
    said = "take it, no, take that, sorry, " * 3_000
    assert isinstance(plainly(said), str)


def test_a_long_run_of_blanks_is_one_and_a_short_one_stays() -> None:
    assert plainly(f"what is{' ' * 19_000}the time") == "what is the time"
    assert plainly("add a note:  two  columns") == "add a note:  two  columns"
