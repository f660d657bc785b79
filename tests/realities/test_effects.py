"""The names of effects, and numbers that none can have."""

import math

import msgspec
import pytest

from realworthy.errors import RealworthyError
from realworthy.realities import EFFECTS
from realworthy.realities.effects import (
    Backlash,
    Cable,
    Contact,
    Flexibility,
    Stribeck,
    SupplySag,
    ThermalFade,
)

MISSING_CAUSES = {
    *("stribeck", "backlash", "hysteresis", "flexibility", "drag", "load_friction"),
    *("saturation", "thermal_fade", "quantisation", "cable", "slosh", "supply_sag"),
    "contact",
}
"""What a diagnosis can name as missing, `unknown` apart."""


def test_effects_have_the_names_of_missing_causes():
    assert set(EFFECTS) == MISSING_CAUSES


@pytest.mark.parametrize("bad", [0.0, -0.1, math.nan, math.inf])
def test_no_effect_has_a_number_that_is_no_size(bad: float):
    for kind in EFFECTS.values():
        for field in msgspec.structs.fields(kind):
            if field.type is not float or field.name == "rest":
                continue
            if field.name == "damping" and bad == 0.0:
                continue
            whole = {f.name: 0.5 for f in msgspec.structs.fields(kind)}
            whole |= {"joint": "j", "body": "b"}
            names = {f.name for f in msgspec.structs.fields(kind)}
            given = {k: v for k, v in whole.items() if k in names} | {field.name: bad}
            with pytest.raises(RealworthyError, match=f"effects: {field.name} of"):
                kind(**given)


@pytest.mark.parametrize(
    ("kind", "given", "problem"),
    [
        (
            Backlash,
            {"joint": "j", "width": -0.02},
            "effects: width of backlash is -0.02; it must be above 0.",
        ),
        (
            Stribeck,
            {"joint": "j", "static": math.nan},
            "effects: static of stribeck is nan; it must be above 0.",
        ),
        (
            SupplySag,
            {"loss": 1.0},
            "effects: loss of supply_sag is 1; it must be between 0 and 1.",
        ),
        (
            ThermalFade,
            {"joint": "j", "time_constant": 1.0, "loss": 0.2, "rated_torque": 0.0},
            "effects: rated_torque of thermal_fade is 0; it must be above 0.",
        ),
        (
            Contact,
            {"position": (0.0, 0.0, 0.0), "size": (0.1, 0.0, 0.1)},
            "effects: size of contact is 0; it must be above 0.",
        ),
        (
            Cable,
            {"joint": "j", "stiffness": 1.0, "rest": math.inf},
            "effects: rest of cable is inf; it must be a number.",
        ),
    ],
)
def test_the_message_says_what_it_must_be(
    kind: type[msgspec.Struct], given: dict[str, object], problem: str
):
    with pytest.raises(RealworthyError) as caught:
        kind(**given)
    assert caught.value.problem == problem


def test_damping_may_be_zero_and_a_rest_negative():
    assert Flexibility(joint="j", stiffness=1.0, damping=0.0).damping == 0
    assert Cable(joint="j", stiffness=1.0, rest=-0.3).rest == -0.3
