"""Descriptions: as YAML and back, complete in KINDS, strict at the door."""

import math

import msgspec
import pytest
import yaml

from realworthy.actuators import (
    KINDS,
    Actuator,
    BadActuator,
    ControllerDuty,
    ControllerGoal,
    ControllerPosition,
    ControllerVoltage,
    MotorIdeal,
    compute_box,
    unitree_go1,
)
from realworthy.artefacts import to_yaml

from .examples import EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_description_survives_yaml(name: str):
    text = to_yaml(EXAMPLES[name])
    assert msgspec.convert(yaml.safe_load(text), Actuator) == EXAMPLES[name]


def test_every_number_of_a_description_is_a_kind_or_structure():
    structure = {"delay_limit", "gear"}

    def list_numbers(tree: dict) -> set[str]:
        inner = [list_numbers(v) for v in tree.values() if isinstance(v, dict)]
        return set().union(*inner, {k for k, v in tree.items() if type(v) is float})

    seen = set()
    for actuator in EXAMPLES.values():
        numbers = list_numbers(msgspec.to_builtins(actuator))
        assert numbers - structure == set(actuator.parameters())
        seen |= numbers
    assert set(KINDS) - seen == {"armature", "backlash"}


def test_an_unknown_key_is_refused_with_its_place():
    tree = {"joint": "a", "controller": {"kind": "position", "kp": 1.0, "kq": 2.0}}
    with pytest.raises(msgspec.ValidationError, match=r"`kq` - at `\$.controller`"):
        msgspec.convert(tree, Actuator)
    tree = {"joint": "a", "controller": {"kind": "position", "kp": -1.0}}
    with pytest.raises(msgspec.ValidationError, match=r"(?s)kp is -1.*\$.controller"):
        msgspec.convert(tree, Actuator)


@pytest.mark.parametrize(
    ("controller", "motor"),
    [
        (ControllerDuty(duty_gain=1.0), MotorIdeal()),
        (ControllerVoltage(), MotorIdeal()),
        (ControllerGoal(), MotorIdeal()),
        (ControllerPosition(kp=1.0), unitree_go1()),
    ],
)
def test_stages_that_do_not_fit_are_refused(controller, motor):
    with pytest.raises(BadActuator, match=r"cannot drive a motor"):
        Actuator(joint="a", controller=controller, motor=motor)


def test_the_refusal_of_a_misfit_says_what_fits():
    with pytest.raises(BadActuator) as refusal:
        Actuator(joint="elbow", controller=ControllerDuty(duty_gain=1.0))
    assert str(refusal.value) == (
        "actuator of 'elbow': a controller of kind duty cannot drive a motor of kind"
        " ideal.\n"
        "  With it goes a motor of kind dc; with a motor of kind network, a controller"
        " of kind goal."
    )


@pytest.mark.parametrize("field", ["gear", "torque_limit", "delay", "strength"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_impossible_numbers_are_refused(field: str, value: float):
    with pytest.raises(BadActuator, match=field):
        Actuator(joint="a", controller=ControllerPosition(kp=1.0), **{field: value})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.01, 0.9, 1.0])
def test_default_boxes_hold_their_nominal(kind: str, share: float):
    described = KINDS[kind]
    nominal = share * min(described.upper, 40.0)
    if described.transform == "log":
        nominal += 0.001
    lower, upper = compute_box(kind, nominal)
    assert lower <= nominal <= upper
    assert described.lower <= lower < upper <= described.upper
    if described.transform == "log":
        assert lower > 0
