"""`realworthy COMMAND …`: parses, runs, and turns mistakes into one clear message."""

import contextlib
import io
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, NoReturn, Protocol, Union, get_type_hints

import tyro

from realworthy.artefacts import plain
from realworthy.cli.adapt import Adapt
from realworthy.cli.arguments import Role
from realworthy.cli.calibrate import Calibrate
from realworthy.cli.certify import Certify
from realworthy.cli.convert import Convert
from realworthy.cli.deploy import Deploy
from realworthy.cli.diagnose import Diagnose
from realworthy.cli.excite import Excite
from realworthy.cli.experiment import Experiment
from realworthy.cli.identify import Identify
from realworthy.cli.learner_options import split_options
from realworthy.cli.measure import Measure
from realworthy.cli.record import Record
from realworthy.cli.retarget import Retarget
from realworthy.cli.robot import RobotCommand
from realworthy.cli.show import Show
from realworthy.cli.tour import TourCommand
from realworthy.cli.train import Train
from realworthy.cli.view import View
from realworthy.errors import RealworthyError, UnknownName

DESCRIPTION = """How far is your simulator from your robot, why, and what to do.

Begin with: realworthy show"""


class Subcommand(Protocol):
    """Arguments as tyro fills them in, and what to do with them."""

    def run(self) -> int:
        """Does it, and returns the exit status."""
        ...


COMMANDS: dict[str, type[Subcommand]] = {
    "tour": TourCommand,
    "show": Show,
    "convert": Convert,
    "measure": Measure,
    "diagnose": Diagnose,
    "excite": Excite,
    "record": Record,
    "identify": Identify,
    "experiment": Experiment,
    "calibrate": Calibrate,
    "retarget": Retarget,
    "train": Train,
    "adapt": Adapt,
    "certify": Certify,
    "robot": RobotCommand,
    "deploy": Deploy,
    "view": View,
}
_STOPPED = 128 + signal.SIGINT
"""What a shell expects of a program that was stopped by its user."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs one command and exits with its status."""
    if arguments is None:
        arguments = sys.argv[1:]
        signal.signal(signal.SIGTERM, _stop)  # so that nothing half-written stays
    with _quiet_warnings():
        sys.exit(_run(list(arguments)))


def _run(arguments: list[str]) -> int:
    _make_printable()
    status = 0
    try:
        status = _run_command(arguments)
        sys.stdout.flush()
    except RealworthyError as error:
        _print_error(type(error).__name__, error.problem, error.hint)
        return 2
    except (KeyboardInterrupt, ImportError) as error:
        if not _was_stopped(error):
            raise
        with contextlib.suppress(OSError):
            sys.stdout.flush()  # what was found so far comes first
        print("Stopped.", file=sys.stderr)
        return _STOPPED
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        _drop_output()
        return status
    except OSError as error:
        try:
            sys.stdout.flush()
        except OSError:
            _drop_output()
        _print_error("Failed", f"{error.filename or 'output'}: {error.strerror}.")
        return 2
    return status


def _run_command(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        from realworthy import __version__

        print(f"realworthy {__version__}")
        return 0
    try:
        command = _parse(arguments or ["--help"])
        from realworthy.cli.files import guarded_files

        with guarded_files(command):
            return command.run()
    except SystemExit:
        if arguments:
            raise  # tyro has shown its help, or said what is wrong
        return 2


def _parse(arguments: list[str]) -> Subcommand:
    """With what of `train` only the learner that it names can read."""
    options: list[str] = []
    _check_command(arguments[0])
    if arguments[:1] == ["train"]:
        arguments, options = split_options(arguments, Train.list_options())
    _check_options(arguments[0], arguments[1:])
    command = _read(arguments)
    if isinstance(command, Train):
        return replace(command, options=tuple(options))
    return command


def _check_command(word: str) -> None:
    """Raises where the first word is no command; names the nearest."""
    if not word.startswith("-") and word not in COMMANDS:
        raise UnknownName(
            "command", word, COMMANDS, owner="Realworthy", listing="realworthy --help"
        )


def _check_options(name: str, words: list[str]) -> None:
    """Raises at an option that the command has not; names the nearest of its own."""
    if name not in COMMANDS:
        return
    known = list_options(COMMANDS[name])
    for word in words:
        option = word.partition("=")[0].replace("_", "-")
        if option == "--":
            return
        if option.startswith("--") and option not in known:
            raise UnknownName(
                "option",
                option,
                sorted(known),
                owner=f"realworthy {name}",
                listing=f"realworthy {name} --help",
            )


def list_options(command: type[Subcommand]) -> set[str]:
    """Options of a command as they are typed, `--help` among them."""
    found = {"--help"}
    for name, hint in get_type_hints(command, include_extras=True).items():
        marks = getattr(hint, "__metadata__", ())
        if tyro.conf.Positional in marks:
            continue
        given = [getattr(m, "name", None) for m in marks if not isinstance(m, Role)]
        option = next(filter(None, given), name)
        found.add(f"--{option.replace('_', '-')}")
    return found


def _read(arguments: list[str]) -> Subcommand:
    kinds = tuple(
        Annotated[kind, tyro.conf.subcommand(name, prefix_name=False)]
        for name, kind in COMMANDS.items()
    )
    return tyro.cli(
        Union[kinds],  # pyright: ignore  # noqa: UP007
        prog="realworthy",
        description=DESCRIPTION,
        args=arguments,
        config=(tyro.conf.OmitArgPrefixes,),
    )


def _print_error(kind: str, problem: str, hint: str = "") -> None:
    """The kind of mistake, what was asked, and what to try; on stderr."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, soft_wrap=True)
    console.print(Text(f"{kind}: ", style="bold red") + Text(plain(problem)))
    if hint:
        console.print(Text(plain(f"  {hint}")))


@contextlib.contextmanager
def _quiet_warnings() -> Iterator[None]:
    """Warnings in one line, without the place in our code that they came from."""

    def show(message: Warning | str, *_: object) -> None:
        print("Warning:", plain(" ".join(str(message).split())), file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("once", UserWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy's, about overflows
        warnings.showwarning = show
        yield


def _make_printable() -> None:
    """Terminals that cannot show a sign get a question mark instead of a failure."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _drop_output() -> None:
    """What is still in the buffer cannot be written; Python must not try at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _was_stopped(error: BaseException | None) -> bool:
    """Whether the user stopped us, also in the midst of loading a library."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _stop(*_: object) -> NoReturn:
    raise KeyboardInterrupt
