"""Commands that messages tell to run exist, with the options that they name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from realworthy.cli.main import COMMANDS, list_options

SOURCE = Path(__file__).parents[2] / "src" / "realworthy"
HINT = re.compile(r"\brealworthy ([a-z]+)\b((?: [^\n;:()]*)?)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def find_texts(path: Path) -> Iterator[str]:
    """Strings of a file as a user reads them, X where a value is put in."""
    tree = ast.parse(path.read_text("utf-8"))
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if id(node) in documentation:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "X"
                for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


HINTS = sorted(
    {
        (found[1], found[2].strip())
        for path in SOURCE.rglob("*.py")
        for text in find_texts(path)
        for found in HINT.finditer(text)
    }
)


def test_there_are_many_hints():
    assert len(HINTS) > 30


@pytest.mark.parametrize(("command", "rest"), HINTS)
def test_what_a_message_tells_to_run_is_a_command_with_its_options(
    command: str, rest: str
):
    assert command in COMMANDS
    known = list_options(COMMANDS[command])
    unknown = [option for option in OPTION.findall(rest) if option not in known]
    assert not unknown
