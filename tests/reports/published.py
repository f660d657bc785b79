"""A page of every command that writes one, beside what its `--json` holds."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from realworthy.certification.certificate.certificate import Certificate
from realworthy.certification.certificate.statistics import CertificateVerdict
from realworthy.cli import certify, diagnose, main, tour, train
from realworthy.cli.output import json_file
from realworthy.deployment import play
from realworthy.diagnosis.diagnosis import Diagnosis
from realworthy.realities import StandIn, load_reality
from realworthy.recordings import save_recording
from realworthy.reports import write_diagnosis
from realworthy.reports.certificate.page import write_certificate
from realworthy.reports.training.page import write_training
from realworthy.tours.page import write_tour
from realworthy.tours.robots import ROBOTS
from realworthy.tours.tour import HiddenParameter, PolicyResult, Tour, TourDiagnosis
from realworthy.tours.training import Way

from .certificates import make_failed, save_replay, to_share
from .trainings import make_training

COMMANDS = ("measure", "diagnose", "calibrate", "train", "certify", "tour")


@dataclass(frozen=True, slots=True)
class Published:
    page: Path
    tree: Any
    """What `--json` wrote."""


Publish = Callable[[str], Published]
"""The page of a command."""


def publish(command: str, folder: Path, diagnosis: Diagnosis) -> Published:
    """`measure` and `calibrate` are run; others take long and are given a result."""
    page, file = folder / f"{command}.html", folder / f"{command}.json"
    if command in ("measure", "calibrate"):
        _run(command, folder, page, file)
    elif command == "diagnose":
        write_diagnosis(diagnosis, page)
        _save(file, diagnose.to_tree(diagnosis))
    elif command == "train":
        training = make_training(folder / "walk", warnings=("A disk was full.",))
        write_training(training, page)
        _save(file, train.to_tree(training))
    elif command == "certify":
        found = make_failed()
        save_replay(folder)
        write_certificate(found, page, folder=folder)
        _save(file, certify.to_tree(found, ()))
    else:
        toured = _make_tour(folder)
        write_tour(toured, page)
        _save(file, tour.to_tree(toured))
    return Published(page, json.loads(file.read_text("utf-8")))


def _save(path: Path, tree: object) -> None:
    with json_file(path, overwrite=False) as save:
        save(tree)


def _record(folder: Path) -> list[str]:
    """Two motions of a pendulum whose truth is shipped."""
    robot = StandIn(load_reality("pendulum_1_easy"))
    t = np.arange(round(3 * robot.info.rate)) / robot.info.rate
    paths = []
    for k, (slow, fast) in enumerate([(0.8, 1.9), (0.6, 2.3)]):
        torque = 1.2 * np.sin(2 * np.pi * slow * t) + 0.8 * np.sin(2 * np.pi * fast * t)
        paths.append(str(folder / f"swing_{k}.npz"))
        save_recording(play(robot, {"joint.command": torque}), paths[-1])
    return paths


def _run(command: str, folder: Path, page: Path, file: Path) -> None:
    asked = [command, "pendulum", *_record(folder)]
    asked += ["--json", str(file), "--report", str(page)]
    if command == "calibrate":
        asked += ["--output", str(folder / "x.twin.yaml")]
        asked += ["--parameters", "joint.damping", "joint.coulomb_friction"]
    with pytest.raises(SystemExit) as stopped:
        main(asked)
    assert stopped.value.code == 0


def _make_tour(folder: Path) -> Tour:
    (folder / "recordings").mkdir()
    first, _ = _record(folder)
    Path(first).rename(folder / "recordings" / "unseen_0.npz")
    twin = "schema: 1\nmodel: pendulum\nname: pendulum\n"
    (folder / "calibrated.twin.yaml").write_text(twin)
    certificate: Certificate = make_failed()
    assert certificate.verdict is CertificateVerdict.FAIL
    shares = {Way.NOMINAL: 61, Way.WIDE: 113, Way.CALIBRATED: 187}
    return Tour(
        robot=ROBOTS["pendulum"],
        seed=3,
        folder=folder,
        truth={"joint.damping": 0.0613},
        unit="rad",
        gap_before=0.2113,
        gap_after=0.0131,
        gap_again=0.0173,
        diagnosis=TourDiagnosis(
            summary="Friction explains 81 % of the gap.",
            causes=(("coulomb_friction", 0.81), ("backlash", 0.07)),
        ),
        estimates=(
            HiddenParameter(
                name="joint.damping",
                unit="N·m·s/rad",
                nominal=0.05,
                mean=0.06093,
                sd=0.00081,
                truth=0.0613,
            ),
        ),
        fared=tuple(
            PolicyResult(
                way=way,
                simulated=0.9317,
                certificate=certificate,
                real=to_share(successes, 200),
                trials=None,
            )
            for way, successes in shares.items()
        ),
        seconds={"record": 1.25, "measure": 2.5, "train": 61.75},
        processor={"record": 1.5, "measure": 1.75, "train": 113.25},
    )
