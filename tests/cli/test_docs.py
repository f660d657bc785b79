"""Every example of docs/commands.md and docs/own_robot.md, run in its order."""

import os
import re
import shlex
import shutil
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_type_hints

import pytest
import tyro

from realworthy.cli.arguments import Role
from realworthy.cli.main import COMMANDS

from .conftest import Run, Write

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "commands.md").read_text("utf-8")
OWN_ROBOT = (DOCS / "own_robot.md").read_text("utf-8")
GAP = "…"
LONG = ("diagnose", "calibrate", "train")
"""Commands that take more than a few seconds."""
FILE = re.compile(r"(?:<!--|#) (\S+\.(?:urdf|yaml))(?: -->)?\n")
NUMBER = re.compile(r"[-−±]?\d[\d.]*(e-?\d+)?")


def find_examples(page: str) -> list[tuple[str, str]]:
    """Commands and what follows them, in the order of the page."""
    blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    return [example for block in blocks for example in divide(block)]


def divide(block: str) -> list[tuple[str, str]]:
    """The commands of one block, each with what it prints."""
    parts = [part for part in re.split(r"^\$ ", block, flags=re.M) if part]
    return [(p.partition("\n")[0], p.partition("\n")[2]) for p in parts]


def shape(text: str, *, is_exact: bool) -> list[str]:
    """Lines, without their numbers unless exact, and with single spaces."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return lines if is_exact else [NUMBER.sub("#", line) for line in lines]


def follow(page: str, run: Run, write: Write, *, is_long: bool) -> int:
    """Runs a page until its first long command, or all; how many were run.

    A block whose first line is a comment with a file's name is that file.
    """
    done = 0
    for kind, block in re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL):
        if named := FILE.match(block):
            write(named[1], block[named.end() :])
        if kind == "python":
            exec(compile(block, "docs/own_robot.md", "exec"), {})
        for command, expected in divide(block) if kind == "console" else ():
            program, *arguments = shlex.split(os.path.expandvars(command))
            if program == "cp":
                shutil.copy(*arguments)
                continue
            assert program == "realworthy"
            if arguments[0] in LONG and not is_long:
                return done
            found = run(*arguments)
            assert found.status in (0, 1), found.err
            is_exact = arguments[0] == "show"
            printed = iter(shape(found.out, is_exact=is_exact))
            for line in shape(expected, is_exact=is_exact):
                assert line in (GAP, "") or line in printed, (command, line)
            done += 1
    return done


def test_every_example_prints_what_the_page_says(run: Run):
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "docs/commands.md", "exec"), {})
    examples = find_examples(PAGE)
    assert len(examples) >= 10
    for command, expected in examples:
        program, *arguments = shlex.split(command)
        assert program == "realworthy"
        found = run(*arguments)
        printed = (found.out + found.err).strip("\n")
        beginning, gap, _ = expected.strip("\n").partition(f"\n{GAP}")
        assert printed.startswith(beginning) if gap else printed == beginning, command


def test_every_command_has_a_section():
    for command in COMMANDS:
        assert f"\n## realworthy {command}\n" in PAGE


@pytest.mark.parametrize("command", COMMANDS)
def test_the_section_of_a_command_has_all_its_options(command: str):
    kind = COMMANDS[command]
    assert is_dataclass(kind)
    section = PAGE.split(f"\n## realworthy {command}\n")[1].split("\n## ")[0]
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        marks = getattr(hints[field.name], "__metadata__", ())
        if tyro.conf.Positional not in marks and tyro.conf.Suppress not in marks:
            options = [mark for mark in marks if not isinstance(mark, Role)]
            named = [x for mark in options if (x := getattr(mark, "name", None))]
            name = (*named, field.name)[0]
            assert f"--{name.replace('_', '-')}" in section, name


@pytest.fixture
def places(
    monkeypatch: pytest.MonkeyPatch, data_folder: Path, menagerie_root: Path
) -> None:
    """Real recordings and models, where a reader's shell would have them."""
    monkeypatch.setenv("REALWORTHY_DATA", str(data_folder))
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))


@pytest.mark.usefixtures("places")
def test_a_robot_of_ones_own_can_be_measured_as_the_page_says(run: Run, write: Write):
    assert follow(OWN_ROBOT, run, write, is_long=False) >= 4


@pytest.mark.slow
@pytest.mark.usefixtures("places")
def test_a_robot_of_ones_own_gets_all_that_the_page_says(run: Run, write: Write):
    assert follow(OWN_ROBOT, run, write, is_long=True) >= 10
