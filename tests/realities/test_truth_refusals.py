"""Names and numbers that a twin cannot have are refused before anything runs."""

import pytest

from realworthy.errors import RealworthyError
from realworthy.realities import Interface, RealityFile, make_reality
from realworthy.realities.effects import (
    Backlash,
    Effect,
    Flexibility,
    LoadFriction,
    Quantisation,
    Saturation,
    Slosh,
    Stribeck,
    SupplySag,
    ThermalFade,
)

from .conftest import PAIR, MakeReality, rotor

PENDULUM_JOINTS = "twin 'pendulum' has no joint 'jiont'."
REFUSED: list[tuple[dict[str, object], str]] = [
    ({"effects": [Stribeck(joint="jiont", static=0.1)]}, PENDULUM_JOINTS),
    ({"effects": [Quantisation(joint="jiont", step=0.1)]}, PENDULUM_JOINTS),
    ({"effects": [Backlash(joint="jiont", width=0.1)]}, PENDULUM_JOINTS),
    (
        {"effects": [ThermalFade(joint="jiont", time_constant=1.0, loss=0.1)]},
        PENDULUM_JOINTS,
    ),
    (
        {"effects": [Slosh(body="tank", mass=0.1, length=0.1)]},
        "twin 'pendulum' has no body 'tank'.",
    ),
    (
        {"effects": [Backlash(joint="joint", width=0.1)] * 2},
        "effects: there are two of backlash on 'joint'.",
    ),
    (
        {"effects": [Saturation(joint="joint", limit=20.0)]},
        "effects: saturation of 'joint' at 20 N·m changes nothing: its actuator ends "
        "at 12 N·m anyway.",
    ),
    (
        {"parameters": {"joint.dampng": 0.1}},
        "twin 'pendulum' has no parameter 'joint.dampng'.",
    ),
    (
        {"parameters": {"joint.damping": -0.1}},
        "parameters: 'joint.damping' is -0.1 N·m·s/rad, outside [0, inf].",
    ),
    (
        {"parameters": {"joint.damping": float("nan")}},
        "parameters: 'joint.damping' is nan N·m·s/rad, outside [0, inf].",
    ),
    (
        {"parameters": {"all.delay": 0.5}},
        "parameters: 'all.delay' is 0.5 s, outside [0, 0.1].",
    ),
    (
        {"parameters": {"all.delay": 0.01, "joint.delay": 0.02}},
        "Two parameters move 'joint.delay'.",
    ),
    (
        {"interface": Interface(joint_sign=["jiont"])},
        "interface: the robot has no joint 'jiont'.",
    ),
    (
        {"interface": Interface(command_kind="velocity")},
        "interface: command_kind is for robots that take position commands; this one "
        "takes torque.",
    ),
    ({"twin": "pendulm"}, "Realworthy has no twin 'pendulm'."),
]


@pytest.mark.parametrize(("parts", "problem"), REFUSED)
def test_names_and_numbers_are_refused_before_anything_runs(
    parts: dict[str, object], problem: str
):
    tree: dict[str, object] = {"schema": 1, "twin": "pendulum", **parts}
    with pytest.raises(RealworthyError) as caught:
        make_reality("test", RealityFile(**tree))  # type: ignore[arg-type]
    assert caught.value.problem == problem


@pytest.mark.parametrize(
    "effect",
    [
        LoadFriction(joint="free", coefficient=0.1),
        Flexibility(joint="free", stiffness=1.0),
        Saturation(joint="free", limit=1.0),
    ],
)
def test_a_joint_without_motor_has_no_effects_of_a_drive(
    make: MakeReality, effect: Effect
):
    with pytest.raises(RealworthyError, match="has no driven joint 'free'"):
        make(PAIR, effect)


@pytest.mark.parametrize(
    "effect",
    [SupplySag(loss=0.1), ThermalFade(joint="hinge", time_constant=1.0, loss=0.1)],
)
def test_weakness_asks_for_a_torque_limit(make: MakeReality, effect: Effect):
    unlimited = rotor('<motor name="hinge" joint="hinge"/>')
    with pytest.raises(RealworthyError, match="'hinge' states none"):
        make(unlimited, effect)


def test_play_needs_a_joint_that_moves_its_body_alone(make: MakeReality):
    model = rotor().replace(
        "<inertial", '<joint name="other" axis="1 0 0"/><inertial', 1
    )
    with pytest.raises(RealworthyError, match="has the joints hinge, other"):
        make(model, Backlash(joint="hinge", width=0.1))
    described = "hinge: {joint: hinge, controller: {kind: torque}, backlash: 0.1}"
    with pytest.raises(RealworthyError, match="cannot get a second joint"):
        make(rotor(), Backlash(joint="hinge", width=0.1), actuators=described)
