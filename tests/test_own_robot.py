"""The way of somebody who brings a robot, by the command line alone.

Each robot is a model that Realworthy has not been fitted to. Its log is of a stand-in
with planted faults, in degrees and milliseconds and under a lab's names of columns.
Every line that a command prints to be run is run.
"""

import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import pytest

from realworthy.recordings import load_recording
from realworthy.twins import bind, load_twin
from realworthy.twins.commands import describe_commands
from realworthy.twins.layout import Layout

from .cli.conftest import find_hints

MINUTES = os.environ.get("OWN_ROBOT_MINUTES", "2")
"""Of training: enough for no dead end, too little for every task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A robot, its task, and what its stand-in has otherwise than its model."""

    twin: str
    task: str
    faults: dict[str, float]
    is_deployed: bool = True
    """False: the task adds position servos, and the stand-in takes torques, so that
    `deploy` refuses the policy; a robot of torques needs servos of its own."""


ARM = {"all.delay": 0.012}
CASES = {
    "wx250s": Case(
        twin="menagerie:trossen_wx250s",
        task="reach",
        faults={**ARM, "elbow.kp": 35.0, "shoulder.coulomb_friction": 0.3},
    ),
    "ur5e": Case(
        twin="menagerie:universal_robots_ur5e",
        task="reach",
        faults={**ARM, "elbow_joint.damping": 20.0},
    ),
    "iiwa": Case(
        twin="menagerie:kuka_iiwa_14",
        task="reach",
        faults={**ARM, "joint2.coulomb_friction": 1.0},
    ),
    "go1": Case(
        twin="menagerie:unitree_go1",
        task="quadruped",
        faults={**ARM, "FL_calf_joint.coulomb_friction": 0.6},
    ),
    "go2": Case(
        twin="menagerie:unitree_go2",
        task="quadruped",
        faults={**ARM, "FL_calf_joint.coulomb_friction": 0.6},
    ),
    "urdf": Case(
        twin="arm.urdf",
        task="reach",
        faults={"shoulder.damping": 0.9},
        is_deployed=False,
    ),
}


class Person:
    """Somebody at a terminal, in an empty folder."""

    def __init__(self, folder: Path, places: dict[str, str]) -> None:
        self.folder = folder
        self._environment = {**os.environ, **places, "OMP_NUM_THREADS": "1"}

    def run(self, *arguments: str, may_fail: bool = False) -> str:
        """What a command prints; it ends well, or says no where it may."""
        done = subprocess.run(
            [sys.executable, "-m", "realworthy", *arguments],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=1800,
        )
        fine = (0, 1) if may_fail else (0,)
        said = f"realworthy {shlex.join(arguments)}\n{done.stdout}{done.stderr}"
        assert done.returncode in fine, said
        assert "Traceback" not in done.stderr, said
        return done.stdout

    def follow(self, text: str) -> None:
        """Runs every command that a text tells to run."""
        for hint in find_hints(text):
            self.run(*hint, may_fail=True)


def write_urdf(folder: Path) -> None:
    """An arm of three links, as a CAD program writes one."""
    parts, names = [], ("shoulder", "upper", "elbow")
    parent = "base"
    for k, name in enumerate(names):
        link = f"link{k}"
        height = 0.1 if k == 0 else 0.25
        axis = "0 0 1" if k == 0 else "0 1 0"
        parts.append(
            f'<link name="{link}"><inertial><origin xyz="0 0 0.12"/>'
            '<mass value="0.8"/><inertia ixx="0.006" iyy="0.006" izz="0.001" ixy="0" '
            'ixz="0" iyz="0"/></inertial><collision><origin xyz="0 0 0.12"/><geometry>'
            '<cylinder radius="0.03" length="0.2"/></geometry></collision></link>'
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/>'
            f'<child link="{link}"/><origin xyz="0 0 {height}"/><axis xyz="{axis}"/>'
            '<dynamics damping="0.5" friction="0.05"/>'
            '<limit lower="-1.6" upper="1.6" effort="20" velocity="3"/></joint>'
        )
        parent = link
    text = f'<robot name="arm"><link name="base"/>{"".join(parts)}</robot>'
    (folder / "arm.urdf").write_text(text)


def write_log(person: Person, case: Case, folder: Path, k: int) -> None:
    """A log of the lab's: the stand-in's recording under foreign names, in degrees."""
    person.run(
        "excite",
        case.twin,
        "--seconds",
        "8",
        "--seed",
        str(k),
        "--output",
        f"motion{k}.csv",
    )
    person.run(
        "record",
        f"motion{k}.csv",
        "--robot",
        "sim:lab.reality.yaml",
        "--output",
        f"raw{k}.csv",
    )
    recording = load_recording(folder / f"raw{k}.csv")
    bound = bind(load_twin(folder / case.twin if "." in case.twin else case.twin))
    layout = Layout(bound)
    lines = {line.joint: line for line in describe_commands(bound)}
    moved = [j for j in layout.driven_joints if not _slides(layout, j)]
    columns = {"stamp_ms": 1e3 * recording.time}
    for place, joint in enumerate(moved, 1):
        columns[f"q_{place}"] = np.degrees(recording.signals[f"{joint}.position"])
        columns[f"dq_{place}"] = np.degrees(recording.signals[f"{joint}.velocity"])
        sent = recording.signals[lines[joint].signal]
        is_angle = lines[joint].kind == "position"
        columns[f"cmd_{place}"] = np.degrees(sent) if is_angle else sent
    rows = np.stack(list(columns.values()), axis=1)
    (folder / "logs").mkdir(exist_ok=True)
    np.savetxt(
        folder / f"logs/run{k}.csv",
        rows,
        delimiter=",",
        comments="",
        header=",".join(columns),
        fmt="%.6f",
    )


def _slides(layout: Layout, joint: str) -> bool:
    model = layout.bound.model
    return model.jnt_type[model.joint(joint).id] == mujoco.mjtJoint.mjJNT_SLIDE


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_newcomer_meets_no_dead_end(
    name: str, tmp_path: Path, data_folder: Path, menagerie_root: Path
):
    case = CASES[name]
    person = Person(
        tmp_path,
        {"REALWORTHY_DATA": str(data_folder), "MENAGERIE_ROOT": str(menagerie_root)},
    )
    if case.twin.endswith(".urdf"):
        write_urdf(tmp_path)
    reality = {"schema": 1, "twin": case.twin, "seed": 5, "parameters": case.faults}
    noise = {"noise": {"position": 0.0005, "velocity": 0.01}}
    (tmp_path / "lab.reality.yaml").write_text(json.dumps({**reality, **noise}))
    person.run("show", case.twin)
    for k in range(2):
        write_log(person, case, tmp_path, k)
    person.follow(person.run("show", "logs/run0.csv", "--twin", case.twin))
    person.follow(
        person.run(
            "convert",
            "logs",
            "--map",
            case.twin,
            "--output",
            "recordings",
            "--overwrite",
        )
    )
    person.run("measure", case.twin, "recordings")
    person.run("diagnose", case.twin, "recordings", may_fail=True)
    export = "mine.urdf" if case.twin.endswith(".urdf") else "mine.xml"
    person.run(
        "calibrate",
        case.twin,
        "recordings",
        "--output",
        "mine.twin.yaml",
        "--export",
        export,
        "--json",
        "fit.json",
    )
    fit = json.loads((tmp_path / "fit.json").read_text())
    heldout = fit["heldout"]
    assert heldout["position_rmse"] < 0.5 * heldout["position_rmse_before"]
    person.run("measure", export, "recordings")
    tasks = person.run("show", "tasks", "--twin", "mine.twin.yaml")
    assert case.task in tasks
    person.run(
        "train",
        case.task,
        "--twin",
        "mine.twin.yaml",
        "--minutes",
        MINUTES,
        "--output",
        "runs/first",
    )
    person.run(
        "certify",
        "runs/first/policy.onnx",
        "--twin",
        "mine.twin.yaml",
        "--suite",
        "quick",
        "--output",
        "certificate",
        may_fail=True,
    )
    if not case.is_deployed:
        return
    person.run(
        "deploy",
        "runs/first/policy.onnx",
        "--robot",
        "sim:lab.reality.yaml",
        "--trials",
        "1",
        "--seconds",
        "3",
        "--yes",
        "--json",
        "deploy.json",
        may_fail=True,
    )
    deployed = json.loads((tmp_path / "deploy.json").read_text())
    assert deployed["trials"], deployed["checks"]
    person.run("measure", "mine.twin.yaml", "trials/trial_1.npz")
