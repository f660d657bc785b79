"""Contracts: what is required, what contradicts itself, what fits a robot."""

import json

import msgspec
import numpy as np
import pytest

from realworthy.artefacts import save
from realworthy.errors import BadFile, RealworthyError
from realworthy.policies import Contract, Linear, check_measurable, list_measured
from realworthy.policies.contract import DriveGains, InputRange, JointLimits
from realworthy.policies.metadata import (
    KEY,
    read_metadata,
    read_sidecar,
    write_metadata,
)
from tests.policies.examples import ACTION, JOINTS, TERMS, bounds, contract, robot

REQUIRED = (
    *("schema", "task", "twin", "joints", "terms", "action", "history_layout"),
    *("period", "substeps", "command_kind", "gains", "limits", "inputs", "delays"),
    *("conventions", "normaliser", "provenance", "parity"),
)
INNER = (
    ("twin", "reference"),
    ("action", "commands"),
    ("action", "offset"),
    ("action", "scale"),
    ("delays", "observation"),
    ("delays", "action"),
    ("conventions", "quaternion"),
    ("conventions", "gyro_frame"),
    ("conventions", "gravity"),
    ("conventions", "action_feedback"),
    ("normaliser", "mean"),
    ("provenance", "created"),
    ("provenance", "versions"),
    ("provenance", "settings_hash"),
    ("provenance", "git"),
    ("parity", "actions"),
)


def tree() -> dict:
    return json.loads(write_metadata(contract())[KEY])


def read(changed: dict) -> Contract:
    return read_metadata("policy.onnx", {KEY: json.dumps(changed)})


def test_a_contract_comes_back_to_the_bit_as_json_and_as_yaml(tmp_path):
    written = contract(period=1 / 3)
    assert read_metadata("policy.onnx", write_metadata(written)) == written
    save(tmp_path / "leg.contract.yaml", written)
    assert read_sidecar(tmp_path / "leg.contract.yaml") == written


def test_a_draft_that_nobody_filled_in_says_all_that_is_missing(tmp_path):
    (tmp_path / "leg.contract.yaml").write_text("schema: 1\ntask: walk\n")
    with pytest.raises(BadFile, match="keys are missing: twin, joints, terms, action,"):
        read_sidecar(tmp_path / "leg.contract.yaml")


@pytest.mark.parametrize("key", REQUIRED)
def test_a_required_key_that_is_missing_is_named(key: str):
    changed = tree()
    del changed[key]
    with pytest.raises(BadFile, match=f"'{key}'"):
        read(changed)


@pytest.mark.parametrize(("outer", "key"), INNER)
def test_so_is_one_within_another(outer: str, key: str):
    changed = tree()
    del changed[outer][key]
    with pytest.raises(BadFile, match=f"{outer}: .*'{key}'"):
        read(changed)


def test_only_what_is_not_required_may_be_left_out():
    optional = set(tree()) - set(REQUIRED)
    ports = {"vectors", "images", "arrays", "outputs", "states"}
    task = {"task_file", "task_settings"}
    robot = {"drives", "resting", "roles"}
    assert optional == {"envelope", "evaluation"} | robot | ports | task
    assert read({k: v for k, v in tree().items() if k in REQUIRED}) == contract()


def test_a_newer_schema_and_unknown_keys_are_refused():
    with pytest.raises(BadFile, match="schema 3; this Realworthy reads up to 2"):
        read(tree() | {"schema": 3})
    with pytest.raises(BadFile, match="there is no key 'perod'"):
        read(tree() | {"perod": 1})
    with pytest.raises(BadFile, match="not JSON"):
        read_metadata("policy.onnx", {KEY: "{"})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"terms": (*TERMS, TERMS[0])}, "two are called 'angles'"),
        ({"terms": ()}, "there are none"),
        ({"gains": {"hip": DriveGains(kp=1.0, kd=1.0)}}, "there are none of 'foot'"),
        ({"limits": {"arm": JointLimits()}}, "'arm' is not among the joints"),
        (
            {"inputs": {"x": InputRange(lower=0.0, upper=1.0, default=2.0)}},
            "x: the default is outside",
        ),
        ({"terms": TERMS[:1]}, "the observation has 9 numbers"),
        (
            {"action": msgspec.structs.replace(ACTION, bounds=bounds("hip"))},
            "action.bounds has 1 entries",
        ),
    ],
)
def test_contradictions_are_refused(changes: dict, said: str):
    with pytest.raises(RealworthyError, match=said):
        contract(**changes)


def test_flat_keys_keep_every_digit():
    flat = write_metadata(contract(period=1 / 3))
    assert flat["joint_names"] == "hip,knee,foot"
    assert float(flat["control_dt"]) == 1 / 3
    assert [float(x) for x in flat["joint_damping"].split(",")] == [1 / 3] * 3
    assert flat["default_joint_pos"] == "0.1,-0.2,0.3"
    assert flat["observation_names"] == "angles,gravity,speeds,command,last"


def test_a_robot_that_has_everything_fits():
    assert contract().find_misfits(robot()) == ()
    assert contract().find_misfits(robot(JOINTS[::-1], rate=200.0)) == ()


@pytest.mark.parametrize(
    ("info", "said"),
    [
        (robot(("hip", "knee")), "no joint 'foot'; it has hip, knee"),
        (robot(("hip", "knee")), r"no command 'foot\.command'"),
        (robot((*JOINTS, "toe")), r"needs a command 'toe\.command'"),
        (
            robot(command_kind="torque"),
            "kind torque; the policy's are of kind position",
        ),
        (robot(rate=30.0), "takes 30 commands/s; the policy gives 50"),
        (robot(other_signals=()), r"does not measure 'base\.orientation\.w'"),
        (
            robot(command_upper=np.array([0.0, 1.0, 1.0])),
            r"'hip\.command' of a zero action is 0\.1, outside the robot's -inf … 0",
        ),
    ],
)
def test_what_a_robot_lacks_is_said(info, said: str):
    with pytest.raises(RealworthyError, match=said):
        contract().check_against(info)


def test_bounds_need_what_they_are_about_to_be_measured():
    action = msgspec.structs.replace(ACTION, bounds=bounds(*JOINTS[:2], "toe"))
    misfits = contract(action=action).find_misfits(robot())
    assert misfits == ("It does not measure 'toe.position'.",)


def test_a_missing_joint_is_said_once():
    misfits = contract().find_misfits(robot(("hip", "knee")))
    assert sum("foot" in misfit for misfit in misfits) == 2  # the joint, the command


def test_what_no_robot_measures_is_refused_with_a_remedy():
    terms = (*TERMS, Linear(name="friction", signals=("floor.friction",)))
    given = ("command.forward", *contract().action.names)
    check_measurable(TERMS, robot(), given=given)
    with pytest.raises(RealworthyError, match=r"floor\.friction.*terms friction") as e:
        check_measurable(terms, list_measured(robot()), given=given)
    assert "critic" in e.value.hint


def test_a_contract_does_not_change():
    with pytest.raises(AttributeError):
        contract().period = 1.0  # type: ignore[misc]
    assert msgspec.structs.replace(contract(), period=1.0).period == 1.0
