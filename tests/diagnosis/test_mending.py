"""A corrected twin replays a stand-in that has the effect."""

import pytest

from realworthy.diagnosis.mending import put_right
from realworthy.diagnosis.suspects import Case, Slot
from realworthy.gap import measure
from realworthy.twins import load_twin
from tests.diagnosis.planted import record

QUIET = {"position": 1e-5, "velocity": 1e-4}


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        ("drag", {"coefficient": 0.05}),
        ("cable", {"stiffness": 0.5, "rest": 0.6}),
        ("flexibility", {"stiffness": 60.0, "damping": 0.2}),
    ],
)
def test_an_effect_is_built_into_the_twin(kind, numbers):
    effect = {"kind": kind, "joint": "joint", **numbers}
    recording = record("pendulum", seconds=4.0, noise=QUIET, effects=[effect])
    twin = load_twin("pendulum")
    case = Case({}, {Slot(f"{kind}.{n}", "joint"): v for n, v in numbers.items()})
    mended, left = put_right(twin, case)
    assert left == []
    before = measure(twin, recording).replay.position_rmse
    assert measure(mended, recording).replay.position_rmse < 0.15 * before


def test_what_a_model_cannot_have_is_said():
    slots = {
        Slot("stribeck.static", "joint"): 0.1,
        Slot("stribeck.velocity", "joint"): 1,
    }
    _, left = put_right(load_twin("pendulum"), Case({}, slots))
    assert left == ["stribeck"]
