"""What Hearth says of itself."""

from hearth.testing import make_call
from hearth.tools.abilities import SETTINGS, TOOLS, abilities, list_abilities, reply_to
from hearth.types import ToolSpec

SPECS = {
    "feed_cat": ToolSpec("feed_cat", "Feed the cat.", domain="pets", examples=("give Mog her dinner",)),
    "find_cat": ToolSpec("find_cat", "Find the cat.", domain="pets"),
    **{tool.spec.name: tool.spec for tool in TOOLS},
}


def test_what_is_told_is_what_is_loaded() -> None:
    said = list_abilities(make_call(settings={SETTINGS: abilities(SPECS)})).text
    assert "pets: feed cat, find cat" in said
    assert "“give Mog her dinner”" in said
    assert "list abilities" not in said


def test_without_tools_it_says_so() -> None:
    assert "nothing yet" in list_abilities(make_call()).text


def test_a_greeting_points_to_the_abilities() -> None:
    assert "what can you do" in reply_to("greeting").text
    assert reply_to("thanks").text == "You're welcome."
    assert reply_to("goodbye").text == "Goodbye."
