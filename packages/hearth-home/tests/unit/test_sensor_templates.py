"""Templates of values and orders: what is read, what is refused, and that nothing of them is run."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_home.discovery_messages import Absent, NoTemplate, NoValue, order_text, value_template


@pytest.mark.parametrize(
    ("template", "payload", "value"),
    [
        ("{{ value }}", "ON", "ON"),
        ("{{value_json.temperature}}", '{"temperature": 21.5}', "21.5"),
        ("{{ value_json.a.b[1].c }}", '{"a": {"b": [0, {"c": "x"}]}}', "x"),
        ("{{ value_json['a b'] }}", '{"a b": true}', "True"),
        ('{{ value_json["a"] | float | round(1) }}', '{"a": "20.56"}', "20.6"),
        ("{{ value | float(0) }}", "unknown", "0"),
        ("{{ value | int / 10 }}", "215", "21.5"),
        ("{{ value_json.v * 1000 | round(0) }}", '{"v": 1.2346}', "1235"),
        ("{{ value | upper | trim }}", " on ", "ON"),
    ],
)
def test_what_is_read(template: str, payload: str, value: str) -> None:
    assert value_template(template).read(payload) == value


@pytest.mark.parametrize(
    "template",
    [
        "{% if value == 1 %}ON{% endif %}",
        "{{ states('sensor.x') }}",
        "{{ value.__class__ }}",
        "{{ value_json.a() }}",
        "{{ ''.join(value) }}",
        "{{ value | map('x') }}",
        "{{ value }}{{ value }}",
        "{{ value / 0 }}",
        "{{ value | float }} W",
        "{{ value" + " | float" * 200 + " }}",
    ],
)
def test_what_is_refused(template: str) -> None:
    with pytest.raises(NoTemplate):
        value_template(template)


@pytest.mark.parametrize(
    ("template", "payload"),
    [("{{ value_json.a }}", "[" * 5000), ("{{ value_json.a }}", '{"a": {}}'), ("{{ value | int }}", "1e999")],
)
def test_a_message_without_the_value_says_so(template: str, payload: str) -> None:
    with pytest.raises(NoValue):
        value_template(template).read(payload)


def test_a_message_that_speaks_of_something_else_is_told_apart() -> None:
    with pytest.raises(Absent):
        value_template("{{ value_json.a }}").read('{"b": 1}')


@pytest.mark.parametrize(
    ("template", "value", "text"),
    [
        ("", 21.0, "21"),
        ("{{ value }}", 21.5, "21.5"),
        ('{"t": {{ value | round(0) }}}', 21.4, '{"t": 21}'),
        ("{{ value | int }}", 21.9, "21"),
        ("{{ value | float }}", 21, "21.0"),
        ('{"s": "{{ value }}"}', "heat", '{"s": "heat"}'),
    ],
)
def test_what_is_ordered(template: str, value: str | float, text: str) -> None:
    assert order_text(template, value) == text


@pytest.mark.parametrize("template", ["{{ value_json.x }}", "{% set x = 1 %}", "{{ value * 2 }}", "{# x #}", "{{ x }}"])
def test_orders_that_are_refused(template: str) -> None:
    with pytest.raises(NoTemplate):
        order_text(template, 1)


@given(st.text(max_size=120), st.text(max_size=120))
def test_any_template_and_message_end_in_text_or_a_refusal(template: str, payload: str) -> None:
    with contextlib.suppress(NoTemplate, NoValue):
        assert isinstance(value_template(template).read(payload), str)
