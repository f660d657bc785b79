"""Numbers as people read them, exact for programs."""

import math

import pytest
from markupsafe import escape

from realworthy.reports.elements.numbers import Amount, Percent, Span, to_digits


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.029187, "0.0292"),
        (-1.5, "−1.5"),
        (999.4, "999"),
        (1234.0, "1,230"),
        (210_900.0, "211,000"),
        (4.1e-6, "4.1 × 10⁻⁶"),
        (-2.5e7, "−2.5 × 10⁷"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "not a number"),
    ],
)
def test_three_digits(value: float, text: str):
    assert to_digits(value) == text.replace(" × ", "\u00a0×\u00a0")


@pytest.mark.parametrize(
    ("value", "sd", "text"),
    [
        (0.583483, 3.42e-05, "0.58348"),
        (0.583502, 3.42e-05, "0.5835"),
        (0.583483, 0.1, "0.583"),
        (1234.56, 0.02, "1,234.56"),
        (0.5, None, "0.5"),
        (0.5, 0.0, "0.5"),
        (0.0, 1e-5, "0"),
    ],
)
def test_digits_go_down_to_the_sd(value: float, sd: float | None, text: str):
    assert str(Amount(value, sd=sd)) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.513, "51"),
        (0.06, "6"),
        (0.004, "0.4"),
        (0.0, "0"),
        (1.0, "100"),
        (-0.02, "−2"),
    ],
)
def test_shares(share: float, text: str):
    assert str(Percent(share)) == f"{text}\u00a0%"


def test_a_unit_stays_with_its_number():
    assert str(Amount(0.5, "rad")) == "0.5\u00a0rad"
    assert str(Amount(None, "rad")) == "–"
    assert str(Span(0.1, 0.25, "rad")) == "0.1\u00a0…\u00a00.25\u00a0rad"
    assert str(Span(0.41, 0.52, "%")) == "41\u00a0…\u00a052\u00a0%"


def test_a_page_holds_the_exact_value():
    third = 1 / 3
    assert f'<data value="{third!r}">0.333' in str(escape(Amount(third, "rad")))
    assert str(escape(Span(third, 2.0))).count("<data value=") == 2


def test_what_is_not_finite_has_no_value_for_programs():
    assert "<data" not in str(escape(Amount(math.nan, "rad")))


def test_a_unit_is_not_markup():
    assert "<b>" not in str(escape(Amount(1.0, "<b>")))
