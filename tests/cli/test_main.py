"""Exit statuses, usage errors, interruptions, and terminals that cannot show a sign."""

import io
import subprocess
import sys
import warnings

import pytest

from realworthy import __version__
from realworthy.cli import main
from realworthy.cli.show import Show
from realworthy.errors import RealworthyError

from .conftest import Run


def test_the_version(run: Run):
    assert run("--version").out == f"realworthy {__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["show", "-h"], ["convert", "-h"]])
def test_help_is_no_mistake(run: Run, arguments: list[str]):
    found = run(*arguments)
    assert found.status == 0
    assert found.err == ""
    assert "usage: realworthy" in found.out
    assert "None" not in found.out  # no {None}|STR, no (default: None)


def test_help_names_every_command(run: Run):
    help_text = run("--help").out
    assert "show" in help_text
    assert "convert" in help_text


def test_no_command_at_all_is_answered_with_the_help(run: Run):
    found = run()
    assert found.status == 2
    assert found.out == run("--help").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["shwo"], "Nearest: 'show'. All"),
        (["mesure", "x"], "Realworthy has no command 'mesure'.\n  Nearest: 'measure'"),
        (
            ["show", "--twn", "arm"],
            "realworthy show has no option '--twn'.\n  Nearest: '--twin'",
        ),
        (["measure", "a", "b", "--raport", "x"], "Nearest: '--report'. All"),
        (["train", "reach", "--ouptut", "x"], "Nearest: '--output'"),
        (["show", "a", "b", "c"], "Unrecognized options: c"),
        (["show", "--json"], "Missing value for argument '--json'"),
        (["convert", "run.csv"], "--output FOLDER"),
        (["convert", "a", "--output", "b", "--format", "xls"], "invalid choice 'xls'"),
    ],
)
def test_usage_errors_end_with_status_2(run: Run, arguments: list[str], said: str):
    found = run(*arguments)
    assert found.status == 2
    assert found.out == ""
    assert said in found.err
    assert "realworthy" in found.err


def replace_run(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(self: Show) -> int:
        raise error

    monkeypatch.setattr(Show, "run", fail)


def test_ctrl_c_ends_quietly(run: Run, monkeypatch: pytest.MonkeyPatch):
    replace_run(monkeypatch, KeyboardInterrupt())
    found = run("show")
    assert (found.status, found.err, found.out) == (130, "Stopped.\n", "")


def test_ctrl_c_within_a_library_ends_quietly(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    error = ImportError("initialization failed")
    error.__cause__ = KeyboardInterrupt()
    replace_run(monkeypatch, error)
    assert run("show").err == "Stopped.\n"


def test_a_fault_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch):
    replace_run(monkeypatch, ImportError("no such thing"))
    with pytest.raises(ImportError):
        main(["show"])


def test_a_mistake_is_said_without_a_traceback(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    replace_run(monkeypatch, RealworthyError("It is [bold]so[/x].", hint="Try that."))
    found = run("show")
    assert found.status == 2
    assert found.err == "RealworthyError: It is [bold]so[/x].\n  Try that.\n"


def test_a_file_system_that_refuses_is_a_mistake(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    replace_run(monkeypatch, PermissionError(13, "Permission denied", "logs"))
    found = run("show")
    assert (found.status, found.err) == (2, "Failed: logs: Permission denied.\n")


def test_a_reader_that_has_seen_enough_is_no_mistake(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    replace_run(monkeypatch, BrokenPipeError(32, "Broken pipe"))
    found = run("show")
    assert (found.status, found.err) == (0, "")


def test_a_reader_that_has_seen_enough_still_gets_the_status():
    """As `certify` prints: into a pipe that nobody reads, and its answer is no."""
    script = (
        "from contextlib import suppress\n"
        "from realworthy.cli.main import main\n"
        "from realworthy.cli.show import Show\n"
        "def run(self):\n"
        "    with suppress(BrokenPipeError):\n"
        "        print('x' * 100_000)\n"
        "    return 1\n"
        "Show.run = run\n"
        "main(['show'])"
    )
    line = f'"{sys.executable}" -c "$0" | true; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", line, script], timeout=60, check=False)
    assert done.returncode == 1


def test_warnings_are_one_line_each_and_said_once(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    def warn(self: Show) -> int:
        for _ in range(3):
            warnings.warn("flex is soft\nElement 'f'", UserWarning, stacklevel=1)
        warnings.warn("overflow encountered", RuntimeWarning, stacklevel=1)
        return 0

    monkeypatch.setattr(Show, "run", warn)
    assert run("show").err == "Warning: flex is soft Element 'f'\n"


def test_a_terminal_that_knows_only_ascii_shows_question_marks(
    monkeypatch: pytest.MonkeyPatch,
):
    screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", screen)
    with pytest.raises(SystemExit) as stopped:
        main(["show", "parameters", "damping", "--twin", "pendulum"])
    assert stopped.value.code == 0
    text = screen.buffer.getvalue().decode("ascii")
    assert "joint.damping" in text
    assert "N?m?s/rad" in text


def test_a_closed_output_is_no_mistake(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as stopped:
        main(["show", "importers"])
    assert stopped.value.code == 0
