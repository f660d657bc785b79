"""The command line run in this process, in an empty folder that must stay tidy."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from realworthy.cli import main

Write = Callable[[str, str], Path]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command left: its status, its output, and the files that it made."""

    status: int
    out: str
    err: str
    files: tuple[str, ...]

    def check_mistake(self, err: str) -> None:
        """Exactly this message, status 2, and nothing left behind."""
        assert self.err == err
        assert self.status == 2
        assert self.files == ()


Run = Callable[..., Outcome]


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs `realworthy ARGUMENTS…` in `tmp_path`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments: str | Path) -> Outcome:
        before = list_files(tmp_path)
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        made = tuple(sorted(list_files(tmp_path) - before))
        assert isinstance(stopped.value.code, int)
        return Outcome(stopped.value.code, out, err, made)

    return run


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a text file into the folder where commands run."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


def find_hints(text: str) -> list[list[str]]:
    """Arguments of every command that a text tells to run, to the end of its line."""
    lines = re.findall(r"\brealworthy ((?:[a-z]+ ).*?)\.?$", text, re.MULTILINE)
    return [shlex.split(line) for line in lines]


def list_files(folder: Path) -> set[str]:
    """Everything in a folder, hidden files and folders too."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def swing_csv(joint: str = "joint", scale: float = 1.0, rows: int = 100) -> str:
    """A second of a joint that swings, at 100 Hz, as a CSV file."""
    lines = [
        f"{t:g},{scale * np.sin(3 * t)},{3 * np.cos(3 * t)}\n"
        for t in np.arange(rows) / 100
    ]
    return f"time,{joint}.position,{joint}.velocity\n" + "".join(lines)


MODEL = """
<mujoco>
  <worldbody>
    <body name="link">
      <joint name="hip" axis="0 1 0" range="-90 90" damping="0.1"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.3" mass="1"/>
    </body>
  </worldbody>
  <actuator>
    <motor name="hip" joint="hip" ctrlrange="-5 5"/>
  </actuator>
</mujoco>
"""
URDF = """
<robot name="reacher">
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0 0 -0.1"/><mass value="1.5"/>
      <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="7" velocity="3"/>
  </joint>
</robot>
"""
