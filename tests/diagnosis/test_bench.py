"""Worlds with a suspect corrected predict a stand-in that has it; others do not."""

import numpy as np
import pytest

from realworthy.diagnosis.bench import Bench
from realworthy.diagnosis.judge import Judge
from realworthy.diagnosis.suspects import Case, Slot
from realworthy.twins import load_twin
from tests.diagnosis.planted import NOISE, record

QUIET = {"position": 1e-5, "velocity": 1e-4}
EFFECTS = {
    "drag": {"coefficient": 0.03},
    "cable": {"stiffness": 0.4, "rest": 0.5},
    "hysteresis": {"torque": 0.3, "stiffness": 5.0},
    "stribeck": {"static": 0.3, "velocity": 0.5},
    "load_friction": {"coefficient": 0.2},
    "backlash": {"width": 0.1},
    "flexibility": {"stiffness": 40.0, "damping": 0.05},
    "supply_sag": {"loss": 0.5},
    "thermal_fade": {"time_constant": 6.0, "loss": 0.4, "rated_torque": 2.0},
}
LEFT = {"backlash": 0.5, "flexibility": 0.5, "hysteresis": 0.2, "thermal_fade": 0.2}
"""Share of the error that may stay, where a start cannot know what is inside."""
INSIDE = ("backlash", "flexibility")


def errors(recording, right, names=()):
    """Of a typical piece: the twin as it is, and with something corrected."""
    bench = Bench(load_twin("pendulum"), [recording], names)
    squares = Judge(bench).squares([Case(), right])
    return np.sqrt(np.median(squares.mean(2), axis=1))


@pytest.mark.parametrize("kind", EFFECTS)
def test_an_effect_with_its_true_numbers_explains_a_stand_in_that_has_it(kind):
    numbers = EFFECTS[kind]
    joint = {} if kind == "supply_sag" else {"joint": "joint"}
    noise = NOISE if kind in INSIDE else QUIET
    recording = record(
        "pendulum", noise=noise, effects=[{"kind": kind, **joint, **numbers}]
    )
    right = Case({}, {Slot(f"{kind}.{n}", "joint"): v for n, v in numbers.items()})
    plain, put_right = errors(recording, right)
    assert plain > 0.5
    assert put_right < LEFT.get(kind, 0.03) * plain


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("joint.damping", 0.12),
        ("joint.coulomb_friction", 0.5),
        ("pendulum.mass", 0.8),
        ("joint.delay", 0.02),
        ("joint.gear", 0.8),
        ("joint.torque_limit", 1.2),
    ],
)
def test_a_true_number_explains_a_stand_in_that_has_it(name, value):
    recording = record("pendulum", noise=QUIET, parameters={name: value})
    plain, put_right = errors(recording, Case({name: value}), [name])
    assert plain > 1.0
    assert put_right < 0.05 * plain


def test_an_encoder_offset_is_undone():
    recording = record(
        "pendulum", noise=QUIET, interface={"encoder_offset": {"joint": 0.1}}
    )
    name = "joint.position.sensor_bias"
    plain, put_right = errors(recording, Case({name: 0.1}), [name])
    assert put_right < 0.02 * plain


def test_some_pieces_give_what_all_of_them_give_there():
    bench = Bench(load_twin("pendulum"), [record("pendulum")], ["joint.damping"])
    cases = [
        Case({"joint.damping": 0.1}),
        Case({}, {Slot("drag.coefficient", "joint"): 0.02}),
    ]
    everything = bench.evaluate(cases)
    np.testing.assert_array_equal(bench.evaluate(cases, [1, 4]), everything[:, [1, 4]])


def test_wrong_starts_are_forgiven():
    """A start off by its own uncertainty must not look like a gap."""
    bench = Bench(load_twin("pendulum"), [record("pendulum")], ())
    judge = Judge(bench)
    plain = bench.evaluate([Case()])
    shifted = plain + 5 * bench.shift_starts(Case())[..., 1:].transpose(2, 0, 1)
    assert judge.condense(shifted).mean() < judge.condense(plain).mean() + 1.0
    assert np.mean(shifted**2) > 4 * np.mean(plain**2)


def test_cases_beside_one_that_acts_give_what_they_give_alone():
    bench = Bench(load_twin("pendulum"), [record("pendulum")], ["joint.damping"])
    acting = {
        Slot("hysteresis.torque", "joint"): 0.3,
        Slot("hysteresis.stiffness", "joint"): 5.0,
    }
    cases = [Case({"joint.damping": 0.1}), Case({}, acting), Case()]
    together = bench.evaluate(cases)
    alone = np.concatenate([bench.evaluate([case]) for case in cases])
    assert together == pytest.approx(alone, abs=1e-9)
    assert np.abs(together[1] - together[2]).max() > 1.0
