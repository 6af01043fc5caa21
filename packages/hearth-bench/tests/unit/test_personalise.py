"""Rules of fusion, each with what it lets stand and what it does not; what may leave; words and sources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.edge import ask_cloud
from hearth.edge.ask_cloud import (
    RULES,
    Eater,
    Fused,
    Private,
    answer_text,
    eaters_for,
    fuse,
    outgoing,
    said_of_cloud,
    said_of_facts,
    stated,
)
from hearth.formats.edge_protocol import AnswerGiven, Item
from hearth_bench.measure.cloud.answer_fusion import CASES, as_given, as_right, by_rule, read_cases, score
from tests.work import grows_in_step

FOOD = "what could I cook"


def fused(eater: Eater, *items: Item, question: str = FOOD, text: str = "", **more: object) -> Fused:
    private = Private((eater,), **more)  # type: ignore[arg-type]
    return fuse(AnswerGiven(id="1", text=text, items=items), private, question)


def item(name: str, *tags: str, text: str = "") -> Item:
    return Item(name=name, tags=tags, text=text)


# ── A row that stands and one that does not, for every rule ───────────────────────────────────────────────

ROWS = (
    (
        "allergen",
        Eater(allergies=("nuts",)),
        item("Lentil soup", "lentils", "carrot"),
        item("Pesto", "walnut", "basil"),
    ),
    (
        "allergen",
        Eater(allergies=("Walnuts",)),
        item("Almond biscuits", "almond", "sugar"),
        item("Bread", "flour", "WALNUT"),
    ),
    (
        "allergen",
        Eater(allergies=("walnut",)),
        item("Soup", "leek", "potato"),
        item("Muesli", "oats", "may contain nuts"),
    ),
    ("allergen", Eater(allergies=("milk",)), item("Curry", "coconut milk", "rice"), item("Curry", "cream", "rice")),
    ("allergen", Eater(allergies=("milk",)), item("Pasta", "vegan cheese", "rice"), item("Pasta", "cheese", "rice")),
    ("allergen", Eater(allergies=("nuts",)), item("Korma", "nut-free", "coconut"), item("Korma", "coconut", "rice")),
    ("allergen", Eater(allergies=("nuts",)), item("Squash", "butternut", "nutmeg"), item("Cake", "praline", "flour")),
    ("allergen", Eater(allergies=("wool",)), item("Cotton scarf", "cotton"), item("Scarf", "wool")),
    (
        "allergen",
        Eater(allergies=("soy",)),
        item("Rice", "rice", "contains: none"),
        item("Rice", "rice", "contains: soy"),
    ),
    ("condition", Eater(conditions=("coeliac",)), item("Rice bowl", "rice", "beans"), item("Toast", "bread", "beans")),
    ("diet", Eater(diets=("vegetarian",)), item("Omelette", "egg", "cheese"), item("Stew", "beef", "carrot")),
    ("diet", Eater(diets=("vegan",)), item("Dal", "lentils", "cumin"), item("Omelette", "egg", "chives")),
    ("diet", Eater(diets=("kosher",)), item("Lamb", "lamb", "rice"), item("Lamb in cream", "lamb", "cream")),
    ("diet", Eater(diets=("no red meat",)), item("Chicken", "chicken", "rice"), item("Chilli", "beef", "beans")),
    ("avoided", Eater(avoids=("alcohol",)), item("Lemonade", "lemon", "water"), item("Punch", "rum", "lemon")),
)


@pytest.mark.parametrize(("rule", "eater", "stands", "goes"), ROWS)
def test_what_a_rule_lets_stand_and_what_not(rule: str, eater: Eater, stands: Item, goes: Item) -> None:
    found = fused(eater, stands, goes)
    assert [one.name for one in found.kept] == [stands.name]
    assert [(one.name, one.rule) for one in found.left_out] == [(goes.name, rule)]
    assert found.used, "the fact it rests on is said"


MOVES = (
    ("unknown", Eater(allergies=("nuts",)), item("Soup", "leek", "potato"), item("Stew")),
    ("disliked", Eater(dislikes=("fish",)), item("Stew", "beans", "carrot"), item("Bake", "salmon", "potato")),
    ("liked", Eater(likes=("chickpeas",)), item("Stew", "chickpeas", "tomato"), item("Bake", "potato", "leek")),
)


@pytest.mark.parametrize(("rule", "eater", "up", "down"), MOVES)
def test_what_a_rule_moves(rule: str, eater: Eater, up: Item, down: Item) -> None:
    for items in ((up, down), (down, up)):
        assert [one.name for one in fused(eater, *items).kept] == [up.name, down.name]
    assert [one.name for one in fused(Eater(), down, up).kept] == [down.name, up.name], "without facts nothing moves"


def test_place_and_time_move() -> None:
    near, far = item("Castle", "castle", "Ghent"), item("Canals", "Bruges")
    found = fused(Eater(), far, near, question="where could we go", place="Ghent")
    assert [one.name for one in found.kept] == ["Castle", "Canals"]
    assert found.kept[0].moved == ("it is in Ghent, where you live",)
    quick, slow = item("Omelette", "egg", "15 minutes"), item("Goulash", "beef", "2 hours")
    found = fused(Eater(), slow, quick, free_minutes=40, until="“Choir”")
    assert [one.name for one in found.kept] == ["Omelette", "Goulash"]
    assert found.kept[1].moved == ("it takes 120 minutes and you have 40 before “Choir”",)
    assert [one.name for one in fused(Eater(), slow, quick, free_minutes=120).kept] == ["Goulash", "Omelette"]


def test_every_rule_has_rows() -> None:
    assert {rule for rule, *_ in (*ROWS, *MOVES)} | {"place", "time"} == set(RULES)


def test_unknown_ingredients_are_said_to_be_unknown_of_food_only() -> None:
    eater = Eater("Ben", allergies=("nuts",))
    found = fused(eater, item("Chef's surprise"), item("Soup", "leek", "potato"))
    assert found.kept[-1].unsure == ("nobody said whether it suits an allergy to nuts",)
    assert "· Soup (not declared what it holds)" in answer_text(found)
    assert "Nobody declared what all of these hold: check before anybody eats." in answer_text(found)
    assert fused(eater, item("Chess"), question="which game could we play").kept[0].unsure == ()


def test_declared_allergens_are_believed_and_nothing_is_said_of_them() -> None:
    found = fused(Eater(allergies=("nuts",)), item("Soup", "leek", "contains: celery"), item("Cake", "contains: nuts"))
    assert [one.name for one in found.left_out] == ["Cake"]
    assert "Nobody declared" not in answer_text(found)
    assert "Check the packet" in answer_text(found)


# ── Who is meant ──────────────────────────────────────────────────────────────────────────────────────────

FACTS = [
    ("me", "allergic to", "nuts"),
    ("me", "sister", "Iris"),
    ("me", "partner", "Sam"),
    ("Iris", "allergic to", "mustard and celery"),
    ("Sam", "diet", "vegan"),
    ("Lotte", "dislikes", "olives"),
]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("what could I cook", ["you"]),
        ("what could I cook for Lotte", ["you", "Lotte"]),
        ("something for Lotte's birthday", ["you", "Lotte"]),
        ("dinner with my sister", ["you", "Iris"]),
        ("what could I cook for us", ["you", "Sam"]),
        ("gift ideas for Lotte", ["Lotte"]),
        ("a present for my sister", ["Iris"]),
        ("what could I cook for Kim", ["you", "Kim"]),
    ],
)
def test_whom_a_question_is_for(question: str, names: list[str]) -> None:
    assert [one.name for one in eaters_for(question, FACTS, ["Kim Maes", "Kim"][1:])] == names


def test_two_in_one_value_are_two() -> None:
    assert eaters_for("for Iris", FACTS)[1].allergies == ("mustard", "celery")


@pytest.mark.parametrize(
    ("question", "facts"),
    [
        ("what could I cook, I'm allergic to nuts", {("me", "allergic to", "nuts")}),
        ("I'm severely allergic to nuts and fish. What can I eat?", {("me", "allergic to", "nuts and fish")}),
        ("any ideas? Lotte can't have hazelnuts", {("Lotte", "allergic to", "hazelnuts")}),
        ("a cake for Ben, Ben is vegan", {("Ben", "diet", "vegan")}),
        ("I am a vegetarian, what can I eat", {("me", "diet", "vegetarian")}),
        ("I'm coeliac, what can I bake", {("me", "health", "coeliac")}),
        ("what could I cook without nuts or milk", {("me", "avoids", "nuts or milk")}),
        ("suggest a nut-free cake", {("me", "avoids", "nut")}),
        ("I have a peanut allergy, what can I snack", {("me", "allergic to", "peanut")}),
        ("I am hungry, what can I eat", set()),
        ("who is in Paris", set()),
        ("what is vegan", set()),
        ("lotte can't have hazelnuts, what could I bake", {("lotte", "allergic to", "hazelnuts")}),
    ],
)
def test_what_a_question_states(question: str, facts: set[tuple[str, str, str]]) -> None:
    assert set(stated(question)) == facts


# ── The cloud's own sentences, and words ──────────────────────────────────────────────────────────────────


def test_sentences_about_what_does_not_suit_are_left_out() -> None:
    text = "Walnut cake is lovely. Soup is light. Add almonds to everything!"
    found = fused(Eater(allergies=("nuts",)), item("Walnut cake", "walnut", "flour"), item("Soup", "leek"), text=text)
    assert (found.text, found.n_sentences_left_out) == ("Soup is light.", 2)


def test_sources_are_said() -> None:
    eater = Eater(allergies=("nuts",), likes=("leek",))
    found = fused(eater, item("Pesto", "walnut"), item("Brittle", "almond", "sugar"), item("Soup", "leek", "potato"))
    assert said_of_cloud(found, "gpt") == "from the cloud (gpt): Soup; Pesto; Brittle"
    assert said_of_facts(found) == "from your facts: you are allergic to nuts, so two were left out; you like leek"
    assert said_of_facts(fused(Eater(), item("Soup", "leek"))) == ""


def test_when_nothing_suits_it_is_said() -> None:
    assert "Nothing that was proposed suits" in answer_text(
        fused(Eater(allergies=("nuts",)), item("Nut roast", "nuts"))
    )


# ── What may leave ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("question", "sent"),
    [
        ("what could I cook tonight", "what could I cook tonight"),
        ("what could I cook without nuts", "what could I cook"),
        ("what could I cook, I'm allergic to NUTS", "what could I cook"),
        ("what could I cook since I am allergic to hazelnuts", "what could I cook"),
        ("suggest a nut-free cake for Saturday", "suggest a cake for Saturday"),
        ("a vegan cake for Saturday", "a cake for Saturday"),
        ("what is in Nuts", ""),
        ("what could I cook without Walnuts", "what could I cook"),
        ("what could I cook with walnuts", "what could I cook with walnuts"),
        ("what could I cook without an oven", "what could I cook without an oven"),
        ("how can I lower my blood pressure", ""),
        ("how does blood pressure work", "how does blood pressure work"),
        ("what did my doctor mean by that", ""),
        ("what does a doctor earn", "what does a doctor earn"),
        ("", ""),
    ],
)
def test_what_of_a_question_may_leave(question: str, sent: str) -> None:
    assert outgoing(question, ["nuts", "hazelnut", "vegan"]) == sent


@given(st.text(max_size=80), st.sampled_from(["nuts", "Lactose", "vegan", "asthma"]))
def test_a_secret_never_leaves(text: str, secret: str) -> None:
    for question in (f"{text} {secret} {text}", f"what to cook, {secret.upper()} {text}"):
        assert secret.casefold().removesuffix("s") not in outgoing(question, [secret]).casefold()


@given(
    st.lists(
        st.builds(Item, name=st.text(min_size=1, max_size=30), tags=st.lists(st.text(max_size=20), max_size=4)),
        max_size=6,
    )
)
def test_nothing_is_lost_or_doubled(items: list[Item]) -> None:
    found = fused(Eater(allergies=("nuts",), diets=("vegan",), likes=("a",)), *items)
    said = [one.name for one in found.kept] + [one.name for one in found.left_out]
    assert sorted(said) == sorted(one.name for one in items)
    assert answer_text(found) is not None


# ── The set and the tables ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("split", ["dev", "test", "hard"])
def test_no_allergen_of_the_set_is_proposed(split: str) -> None:
    cases = [case for case in read_cases(CASES) if case.split == split]
    assert len(cases) >= 20
    by_rules, floor = score(cases, [by_rule(case) for case in cases]), score(cases, [as_given(case) for case in cases])
    assert by_rules["n_unsafe_kept"] == 0
    assert floor["n_unsafe_kept"], "there is something to be left out"
    assert score(cases, [as_right(case) for case in cases])["wholly_right"] == 1.0


def test_what_no_table_knows_is_warned_of() -> None:
    cases = [case for case in read_cases(CASES) if case.split == "unseen"]
    found = score(cases, [by_rule(case) for case in cases])
    assert found["n_unsafe_kept"], "dishes that no table knows pass"
    assert found["n_unsafe_kept_without_a_warning"] == 0


def test_the_tables_are_sound() -> None:
    families = set(ask_cloud.FAMILIES)
    assert {family for listed in ask_cloud.DIETS.values() for family in listed} <= families
    assert {family for listed in ask_cloud.USUALLY.values() for family in listed} <= families
    assert set(ask_cloud.CALLED.values()) <= families
    assert set(ask_cloud.CONDITIONS.values()) <= families


@pytest.mark.parametrize("piece", ["i am allergic to ", "without ", "a is ", "x", "a, "])
def test_a_long_question_takes_work_in_step_with_its_length(piece: str) -> None:
    def read(n: int) -> None:
        text = piece * (n // len(piece))
        outgoing(text, ["nuts", "vegan"])
        stated(text)

    assert grows_in_step(read, 1_000, 4_000)
