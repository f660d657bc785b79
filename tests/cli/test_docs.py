"""Every example of docs/commands.md, run in its order: what it prints is true."""

import re
import shlex
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_type_hints

import pytest
import tyro

from realworthy.cli.main import COMMANDS

from .conftest import Run

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text("utf-8")
GAP = "…"


def find_examples() -> list[tuple[str, str]]:
    """Commands and what follows them, in the order of the page."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.M)]
    return [(p.partition("\n")[0], p.partition("\n")[2]) for p in parts if p]


def test_every_example_prints_what_the_page_says(run: Run):
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "docs/commands.md", "exec"), {})
    examples = find_examples()
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
        if tyro.conf.Positional not in getattr(hints[field.name], "__metadata__", ()):
            assert f"--{field.name.replace('_', '-')}" in section, field.name
