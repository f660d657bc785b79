"""Nothing but the guarded step commands a robot."""

import ast
from pathlib import Path

import realworthy

SOURCE = Path(realworthy.__file__).parent
MAY_WRITE = {
    "deployment/guarded_robot.py": "the guarded step",
    "robots/server.py": "the robot's own end: passes on what a commander sent",
    "robots/conformance.py": "tries a driver, commands that are no numbers included",
    "realities/faults.py": "a stand-in around another",
}
"""Files that call a robot's `write`, and why."""


def find_writes(tree: ast.Module) -> list[int]:
    """Lines that call `….write(…)` with a `Command`, or on something called a robot."""
    lines = []
    for node in ast.walk(tree):
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "write"
        ):
            continue
        owner, given = ast.unparse(node.func.value), map(ast.unparse, node.args)
        if "robot" in owner.lower() or any("Command(" in text for text in given):
            lines.append(node.lineno)
    return lines


def test_no_other_file_writes_to_a_robot():
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if find_writes(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set(MAY_WRITE)


def test_the_guarded_step_is_one_place():
    path = SOURCE / "deployment/guarded_robot.py"
    assert len(find_writes(ast.parse(path.read_text(encoding="utf-8")))) == 1


def test_commands_are_made_where_they_are_sent():
    """Nobody else builds a `Command`, from which another path could begin."""
    makers = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Command"
    }
    assert makers == set(MAY_WRITE)
