"""No command eats what it reads, or writes two outputs into one file."""

import hashlib
import json
import os
import shlex
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest

from realworthy.artefacts import locked_folder
from realworthy.cli.arguments import Role
from realworthy.cli.files import list_marked
from realworthy.cli.main import COMMANDS

from .conftest import Run, Write, list_files, swing_csv

NOT_FILES = {"notes", "listen", "host"}
"""Texts of commands that never name a file."""


def hash_files(folder: Path) -> dict[str, str]:
    return {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in list_files(folder)
        if (folder / name).is_file()
    }


@pytest.fixture
def inputs(write: Write, tmp_path: Path) -> Path:
    """One of each kind that commands read."""
    write("a.csv", swing_csv())
    write("a.yaml", "schema: 1\n")
    write("logs/b.csv", swing_csv())
    write("m.csv", "time,joint.position\n0,0\n1,0.1\n")
    write("t.twin.yaml", "schema: 1\nname: t\nmodel: t.xml\n")
    write("t.xml", '<mujoco><include file="part.xml"/></mujoco>')
    write("part.xml", "<mujoco/>")
    write("p.onnx", "not read before outputs are looked at")
    write("p.contract.yaml", "schema: 1\n")
    write("s.suite.yaml", "schema: 1\n")
    write("r.reality.yaml", "schema: 1\ntwin: t.twin.yaml\n")
    write("k.key", "secret")
    (tmp_path / "link.csv").symlink_to("a.csv")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "a.csv")
    return tmp_path


EATING = [
    "measure pendulum a.csv --json a.csv",
    "measure pendulum a.csv --json ./logs/../a.csv",
    "measure pendulum a.csv --json link.csv",
    "measure pendulum a.csv --json hard.csv",
    "measure pendulum link.csv --json a.csv",
    "measure pendulum a.csv --json a.yaml",
    "measure pendulum logs --json logs/b.csv",
    "measure pendulum a.csv --sidecar s.suite.yaml --json s.suite.yaml",
    "measure t.twin.yaml a.csv --json t.twin.yaml",
    "measure t.twin.yaml a.csv --json t.xml",
    "measure t.twin.yaml a.csv --json part.xml",
    "diagnose pendulum a.csv --json a.csv",
    "diagnose pendulum a.csv --before m.csv --json m.csv",
    "calibrate t.twin.yaml a.csv --output t.twin.yaml",
    "calibrate pendulum a.csv --output x.twin.yaml --json a.csv",
    "calibrate pendulum a.csv --heldout m.csv --output x.twin.yaml --json m.csv",
    "certify p.onnx --json p.onnx",
    "certify p.onnx --junit p.onnx",
    "certify p.onnx --json p.contract.yaml",
    "certify p.onnx --suite s.suite.yaml --json s.suite.yaml",
    "certify p.onnx --against a.csv --json a.csv",
    "certify p.onnx --realities r.reality.yaml --json r.reality.yaml",
    "convert logs --output logs",
    "convert a.csv --output out --json a.csv",
    "record m.csv --robot sim:pendulum_1_easy --output m.csv",
    "record m.csv --robot sim:r.reality.yaml --output o.csv --json r.reality.yaml",
    "record m.csv --robot udp://127.0.0.1:1 --key k.key --output o.csv --json k.key",
    "deploy p.onnx --robot sim:pendulum_1_easy --json p.onnx",
    "excite t.twin.yaml --json t.twin.yaml",
    "show a.csv --json a.csv",
    "show t.twin.yaml --json t.twin.yaml",
    "train pendulum --twin t.twin.yaml --output run --json t.twin.yaml",
]


@pytest.mark.parametrize("leave", ["", " --overwrite"])
@pytest.mark.parametrize("command", EATING)
def test_what_is_read_is_never_written(
    run: Run, inputs: Path, command: str, leave: str
):
    before = hash_files(inputs)
    told = run(*shlex.split(command + leave))
    assert told.status == 2
    assert "this run reads that file." in told.err
    assert told.files == ()
    assert hash_files(inputs) == before


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("measure pendulum a.csv --json x.html --report x.html", "x.html: it is the"),
        ("excite pendulum --output x.csv --json ./x.csv", "it is the file of --output"),
        ("certify p.onnx --json x --junit x", "it is the file of --junit, too"),
        ("convert logs --output out --json out/b.csv", "another output of this run"),
    ],
)
def test_two_outputs_are_two_files(run: Run, inputs: Path, command: str, said: str):
    told = run(*shlex.split(command), "--overwrite")
    assert told.status == 2
    assert said in told.err
    assert told.files == ()


def test_outputs_beside_inputs_are_fine(run: Run, inputs: Path):
    assert run("show", "a.csv", "--json", "logs/a.json").status == 0
    into = ("--output", "logs", "--format", "npz")
    assert run("convert", "logs", *into).files == ("logs/b.npz",)
    assert run("show", "logs", "--json", "logs/a.json", "--overwrite").status == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_that_may_name_a_file_says_what_is_done_to_it(name: str):
    """A new one that says nothing would be eaten, or eat."""
    kind = COMMANDS[name]
    marked = {field for field, _ in list_marked(kind)}
    hints = get_type_hints(kind)
    paths = {f for f, hint in hints.items() if "Path" in str(hint)}
    assert paths <= marked
    written = {f for f, role in list_marked(kind) if role is Role.WRITTEN}
    assert {"json", "report", "output", "junit"} & set(hints) <= written


def test_a_folder_that_another_run_holds_is_refused(run: Run, inputs: Path):
    with locked_folder(inputs / "out"):
        for command in ("convert a.csv", "train pendulum --steps 64", "tour"):
            told = run(*command.split(), "--output", "out")
            assert told.status == 2
            assert f"out: process {os.getpid()} is writing there" in told.err
    assert not (inputs / "out").exists()


# data that is nobody's mistake


def write_jump(write: Write) -> None:
    """The clock is set forward by 10⁶ s in the midst of a swing."""
    time = np.arange(300) / 100 + np.where(np.arange(300) < 150, 0.0, 1e6)
    swing = np.arange(300) / 100
    rows = [f"{t},{np.sin(3 * s)},0.5\n" for t, s in zip(time, swing, strict=True)]
    write("j.csv", "time,joint.position,joint.command\n" + "".join(rows))
    write("j.yaml", "schema: 1\ntwin: pendulum\ncommand_kind: torque\nrate: 100\n")


def test_a_clock_that_jumps_is_cut_there(run: Run, write: Write, tmp_path: Path):
    write_jump(write)
    told = run("measure", "pendulum", "j.csv", "--json", "j.json")
    assert told.status == 0
    assert "j lacks rows after 1.49 s for 1e+06 s, and was cut there" in told.out
    tree = json.loads((tmp_path / "j.json").read_text())
    assert len(tree["recordings"]) == 2
    assert len(tree["cut"]) == 1
    assert run("show", "j.csv").status == 0


def test_a_robot_at_rest_is_refused_and_blocks_nothing(
    run: Run, write: Write, tmp_path: Path
):
    rows = "".join(f"{i / 100},0,0\n" for i in range(300))
    write("r.csv", "time,joint.position,joint.command\n" + rows)
    told = run("calibrate", "pendulum", "r.csv", "--output", "x.twin.yaml")
    assert told.status == 1
    assert "identify nothing: the robot stands still" in told.out
    assert told.files == ()


@pytest.mark.parametrize(("seconds", "said"), [(1e-4, "one period"), (1e7, "3600 s")])
def test_motions_without_length_are_refused(
    run: Run, write: Write, seconds: float, said: str
):
    write("m.csv", f"time,joint.position\n0,0\n{seconds},0.0001\n")
    told = run("record", "m.csv", "--robot", "sim:pendulum_1_easy", "--output", "o.csv")
    assert told.status == 2
    assert said in told.err
    assert told.files == ()
