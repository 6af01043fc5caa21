"""Check digits: right and wrong ones, any script, and that what the library cannot read ends in a no, not in its error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.language.values.identifying import iban_digits, iban_length, is_iban, is_luhn, is_spanish, luhn_digit


@pytest.mark.parametrize("text", ["4111111111111111", "3782 822463 10005", "٤١١١١١١١١١١١١١١١", "0" * 13])
def test_digits_of_a_card(text: str) -> None:
    assert is_luhn(text)


@given(st.text("0123456789", min_size=1, max_size=18))
def test_one_digit_alone_completes_a_card(bare: str) -> None:
    assert [digit for digit in "0123456789" if is_luhn(bare + digit)] == [luhn_digit(bare)]


@pytest.mark.parametrize(("iban", "right"), [("DE89370400440532013000", True), ("DE89370400440532013001", False)])
def test_digits_of_an_account(iban: str, right: bool) -> None:
    assert is_iban(iban) is right


@given(st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=11, max_size=30))
def test_two_digits_complete_an_account(rest: str) -> None:
    assert is_iban(f"ZZ{iban_digits('ZZ', rest)}{rest}")


@pytest.mark.parametrize(
    ("country", "length"), [("NO", 15), ("DE", 22), ("BI", 27), ("MT", 31), ("RU", 33), ("ZZ", 0), ("US", 0)]
)
def test_lengths_of_accounts(country: str, length: int) -> None:
    assert iban_length(country) == length


@pytest.mark.parametrize(
    ("number", "letter", "right"),
    [("12345678", "Z", True), ("12345678", "A", False), ("X1234567", "L", True), ("X1234567", "Z", False)],
)
def test_letters_of_spanish_numbers(number: str, letter: str, right: bool) -> None:
    assert is_spanish(number, letter) is right


@pytest.mark.parametrize("text", ["", "-", "²³", "ß" * 20, "DE\x00", "é" * 9])
def test_what_the_library_cannot_read_has_no_right_digit(text: str) -> None:
    assert not is_luhn(text)
    assert not is_iban(text)
    assert not is_spanish(text, "A")
