"""`realworthy COMMAND …`: parses, runs, and turns mistakes into one clear message."""

import sys
from collections.abc import Sequence
from typing import Annotated

import tyro

from realworthy.cli.convert import Convert
from realworthy.cli.show import Show
from realworthy.errors import RealworthyError

COMMANDS = {"show": Show, "convert": Convert}

_Command = (
    Annotated[Show, tyro.conf.subcommand("show", prefix_name=False)]
    | Annotated[Convert, tyro.conf.subcommand("convert", prefix_name=False)]
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and exits with its status."""
    if arguments is None:
        arguments = sys.argv[1:]
    if list(arguments) == ["--version"]:
        from realworthy import __version__

        print(f"realworthy {__version__}")
        sys.exit(0)
    command = tyro.cli(
        tyro.conf.OmitArgPrefixes[_Command],
        prog="realworthy",
        description="How far is your simulator from your robot, why, and what to do.",
        args=list(arguments),
    )
    try:
        status = command.run()
    except RealworthyError as error:
        print_error(error)
        status = 2
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        status = 130
    sys.exit(status)


def print_error(error: RealworthyError) -> None:
    """The kind of mistake, what was asked, and what to try; on stderr."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, soft_wrap=True)
    kind = Text(f"{type(error).__name__}: ", style="bold red")
    console.print(kind + Text(error.problem))
    if error.hint:
        console.print(Text(f"  {error.hint}"))
