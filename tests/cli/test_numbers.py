"""Numbers that break their rule: said in plain words, by tyro, before any work."""

import pytest

from .conftest import Run

SEED = "it takes a whole number, 0 or more, not '-1'."
SECONDS = "it takes seconds above 0, not '-1'."
LISTEN = ("pendulum", "--listen", "udp://127.0.0.1:0")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("excite", "pendulum", "--seed", "-1"), SEED),
        (("certify", "p.onnx", "--seed", "-1"), SEED),
        (("train", "pendulum", "--output", "r", "--seed", "-1"), SEED),
        (("tour", "--seed", "-1"), SEED),
        (("robot", *LISTEN, "--seed", "-1"), SEED),
        (("robot", *LISTEN, "--seconds", "-1"), SECONDS),
        (("view", "pendulum", "--seconds", "-1"), SECONDS),
        (
            ("calibrate", "pendulum", "a.csv", "--output", "c", "--seconds", "-1"),
            SECONDS,
        ),
        (("view", "pendulum", "--port", "abc"), "it takes a whole number, not 'abc'."),
        (("excite", "pendulum", "--speed", "abc"), "it takes a number, not 'abc'."),
        (("certify", "p.onnx", "--seed", "a"), "it takes a whole number, 0 or more"),
    ],
)
def test_a_number_that_breaks_its_rule(run: Run, arguments: tuple[str, ...], told: str):
    found = run(*arguments)
    assert found.status == 2
    assert told in " ".join(found.err.replace("│", " ").split())
    assert "None" not in found.err
    assert found.files == ()


@pytest.mark.parametrize("command", ["view", "excite", "certify", "train", "robot"])
def test_help_names_numbers_plainly(run: Run, command: str):
    found = run(command, "--help")
    assert found.status == 0
    assert "{None}|FLOAT" not in found.out
    assert "{None}|INT" not in found.out
