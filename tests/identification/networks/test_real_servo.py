"""A real XL330 servo: a network against physical models on motions left out."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from realworthy.actuators import Actuator, BenchLoad, MotorDc, load_servo
from realworthy.identification.networks import (
    DriveRun,
    NetworkSettings,
    PhysicalSettings,
    compare_drives,
    cut,
    fit_network,
    fit_physical,
    label_torque,
    network_candidate,
    physical_candidate,
    read_runs,
)
from realworthy.recordings import load_recordings

MOTIONS = ("sin_sin", "sin_time_square", "up_and_down")
DRIVE = ["torque_constant", "resistance", "armature", "coulomb_friction", "damping"]
FRICTIONS = {
    "m1": [],
    "m4": [
        "stribeck_friction",
        "stribeck_velocity",
        "load_friction",
        "stribeck_load_friction",
    ],
}
FRICTIONS["m4 saturating"] = [*FRICTIONS["m4"], "saturation_current"]
TIMESTEP = 0.0025
GAIN = "duty_gain"


def published(data_folder: Path, model: str) -> tuple[Actuator, BenchLoad]:
    friction, _, saturates = model.partition(" ")
    folder = data_folder / "bam_servos/published_parameters_2026-07"
    file = folder / f"xl330_{friction}.json"
    zero = json.loads(file.read_text())["q_offset"]
    drive = load_servo(file, joint="arm", kp=200, supply_voltage=7.4)
    drive = saturate(drive) if saturates else drive
    return drive, BenchLoad(mass=0.49, length=0.1, zero=zero)


def saturate(drive: Actuator) -> Actuator:
    """Half the torque per current at stall, to begin with: see `forms`."""
    motor = drive.motor
    assert isinstance(motor, MotorDc)
    stall = motor.supply_voltage / motor.resistance
    motor = msgspec.structs.replace(motor, saturation_current=stall)
    return msgspec.structs.replace(drive, motor=motor)


def read_motions(data_folder: Path) -> dict[str, list[DriveRun]]:
    """Motion → runs at gains 100, 200 and 800, torques weighed by the known load."""
    drive, bench = published(data_folder, "m1")
    found: dict[str, list[DriveRun]] = {motion: [] for motion in MOTIONS}
    folder = data_folder / "bam_servos" / "xl330"
    for recording in load_recordings([folder], importer="bam_servos"):
        notes = recording.sidecar.notes
        motion, kp = str(notes["trajectory"]), float(str(notes["kp"]))
        if motion not in found:
            continue  # torque is off for most of lift_and_drop
        labelled = label_torque(recording, "arm", bench, armature=drive.armature or 0.0)
        (run,) = read_runs([labelled], ["arm"], rate=200.0, gain=kp / 200)
        found[motion].append(replace(run, name=f"kp {kp:g} {motion}"))
    return found


def test_torques_are_labelled_by_the_load_of_the_real_bench(data_folder: Path):
    runs = [run for group in read_motions(data_folder).values() for run in group]
    assert len(runs) == 9
    stall = 0.387 / 4.02 * 7.4  # published numbers: N·m
    for run in runs:
        assert 0.05 < run.torque.std() < stall
        assert abs(run.torque).max() < 2 * stall


@pytest.mark.slow
@pytest.mark.parametrize("left_out", MOTIONS)
def test_a_network_against_physics_on_a_motion_left_out(
    left_out: str, data_folder: Path, tmp_path: Path
):
    """12 s of data per gain are few: the best physics wins every motion.

    With a motor that does not saturate, the slow one, where friction decides, goes to
    the network.
    """
    pytest.importorskip("torch", reason="training needs torch")
    motions = read_motions(data_folder)
    unseen = motions.pop(left_out)
    train = [run for group in motions.values() for run in group]
    pieces = cut(train, 1.0)[::2]
    settings = PhysicalSettings(gain_kind=GAIN, timestep=TIMESTEP, evaluations=25)
    candidates, fitted = {}, {}
    for model, more in FRICTIONS.items():
        drive, bench = published(data_folder, model)
        if model in ("m1", "m4"):
            known = physical_candidate(drive, timestep=TIMESTEP, gain_kind=GAIN)
            candidates[f"{model} published"] = known
        fitted[model] = fit_physical(drive, [*DRIVE, *more], pieces, bench, settings)
        candidates[f"{model} fitted"] = physical_candidate(
            fitted[model], timestep=TIMESTEP, gain_kind=GAIN
        )
    network = fit_network(
        train,
        NetworkSettings(period=0.005, history=4, epochs=100, learning_rate=5e-3),
    )
    network.save(tmp_path / "arm.drive.yaml", fitted["m4"])
    candidates["network"] = network_candidate(
        tmp_path / "arm.drive.yaml", timestep=TIMESTEP, gain_kind=GAIN
    )
    _, bench = published(data_folder, "m1")
    found = compare_drives(candidates, unseen, bench)
    print(left_out, found.to_words(), sep="\n")
    position = {name: score.position for name, score in found.scores.items()}
    best = min(position[f"{model} fitted"] for model in FRICTIONS)
    assert best < position["network"]
    if left_out == "up_and_down":
        assert position["network"] < position["m1 published"]
        assert position["network"] < position["m4 published"]
