"""Friction models distinguished by held-out experiments, and when they cannot be."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from realworthy.actuators import FrictionM1, FrictionM4
from realworthy.errors import RealworthyError, UnknownName
from realworthy.identification import (
    LeastSquaresSettings,
    describe_drive,
    frictions,
    select_structure,
)
from realworthy.identification.validation.structures import choose_structure
from realworthy.recordings import Recording, Sidecar, SignalNoise
from realworthy.simulators import MujocoCpu, record
from realworthy.twins import Twin, bind
from tests.identification.conftest import multisine


def play_structure(twin: Twin, seeds: range, *, seconds: float = 2.0):
    """What robots of this very structure record, with 1 mrad of noise."""
    found = []
    for seed in seeds:
        simulator = MujocoCpu(bind(twin), 1, substeps=2)
        simulator.reset()
        amplitude = [0.15, 0.3, 0.6, 0.9][seed % 4]
        goals = multisine(seed, seconds, amplitude=amplitude)[:, None]
        clean = record(simulator, goals)[0]
        noise = np.random.default_rng(seed).standard_normal(len(clean.time))
        found.append(
            Recording(
                clean.time,
                {
                    "joint.position": clean.signals["joint.position"] + 1e-3 * noise,
                    "joint.command": clean.signals["joint.command"],
                },
                Sidecar(command_kind="position", noise=SignalNoise(position=1e-3)),
            )
        )
    return found


def fake(losses: list[float], count: int):
    """What `choose_structure` reads of a fit and its validation."""
    loss = {str(i): x for i, x in enumerate(losses)}
    return None, SimpleNamespace(loss=loss, parameter_count=count, rmse=0.0)


def test_a_native_drive_is_put_into_words(joint: Twin):
    name, drive = describe_drive(joint, "joint")
    assert name == "joint"
    assert drive.friction == FrictionM1(coulomb_friction=0.1, damping=0.3)
    assert drive.armature == pytest.approx(0.02)
    assert drive.controller.kp == pytest.approx(15.0)


def test_a_described_drive_moves_like_the_native_one(joint: Twin):
    described = frictions(joint, ["joint"], ["m1"])["m1"].twin
    goals = multisine(3, 1.0)[:, None]
    ends = []
    for twin in (joint, described):
        simulator = MujocoCpu(bind(twin), 1, substeps=2)
        simulator.reset()
        ends.append(record(simulator, goals)[0].signals["joint.position"])
    assert ends[0] == pytest.approx(ends[1], abs=2e-3)


def test_the_simplest_within_one_standard_error_is_chosen():
    names = {"simple": None, "rich": None}
    close = {
        "simple": fake([1.0, 1.1, 0.9], 2),
        "rich": fake([0.98, 1.12, 0.88], 5),
    }
    chosen = choose_structure(names, close)
    assert chosen.chosen.name == "simple"
    assert set(chosen.undecided) == {"simple", "rich"}
    assert "do not distinguish" in chosen.to_words()


def test_a_clear_difference_decides():
    names = {"simple": None, "rich": None}
    apart = {"simple": fake([3.0, 2.5, 4.0], 2), "rich": fake([1.0, 1.1, 1.2], 5)}
    chosen = choose_structure(names, apart)
    assert chosen.chosen.name == "rich"
    assert chosen.undecided == ("rich",)
    assert chosen.contenders[1].behind == pytest.approx(
        np.mean(np.log([3.0, 2.5 / 1.1, 4.0 / 1.2]))
    )


@pytest.mark.slow
@pytest.mark.parametrize("hidden", ["m1", "m4"])
def test_hidden_friction_is_told_by_held_out_motions(joint: Twin, hidden: str, capsys):
    twin = frictions(joint, ["joint"], [hidden])[hidden].twin
    if hidden == "m4":
        rich = FrictionM4(
            coulomb_friction=0.1,
            damping=0.2,
            stribeck_friction=0.15,
            stribeck_velocity=0.3,
            load_friction=0.15,
            stribeck_load_friction=0.1,
        )
        _, drive = describe_drive(joint, "joint")
        import msgspec

        twin = joint.with_actuators(
            {"joint": msgspec.structs.replace(drive, friction=rich)}
        )
    recordings = play_structure(twin, range(4))
    found = select_structure(
        frictions(joint, ["joint"], ["m1", "m2", "m4"], others=["joint.kp"]),
        recordings,
        horizon=np.inf,
        fold_count=4,
        settings=LeastSquaresSettings(iterations=25),
    )
    with capsys.disabled():
        print("\n" + found.to_words())
    assert found.chosen.name == hidden
    if hidden == "m4":
        simple = next(c for c in found.contenders if c.name == "m1")
        assert simple.is_rejected
        assert simple.validation.rmse > 1.5 * found.chosen.validation.rmse


def test_unknown_frictions_and_lone_candidates_are_refused(joint: Twin, tmp_path: Path):
    with pytest.raises(UnknownName, match="m9"):
        frictions(joint, ["joint"], ["m9"])
    with pytest.raises(RealworthyError, match="two structures"):
        select_structure(frictions(joint, ["joint"], ["m1"]), [])
