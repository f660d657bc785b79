"""Arguments that several commands share, as `--help` shows them."""

import enum
from pathlib import Path
from typing import Annotated

import tyro


class Role(enum.Enum):
    """What a command does to the files that an argument names."""

    READ = "read"
    WRITTEN = "written"


TwinToUse = Annotated[
    str,
    Role.READ,
    tyro.conf.Positional,
    tyro.conf.arg(metavar="TWIN", help_behavior_hint=""),
]
RecordingFiles = Annotated[
    tuple[Path, ...],
    Role.READ,
    tyro.conf.Positional,
    tyro.conf.arg(metavar="RECORDING…", help_behavior_hint=""),
]
MoreRecordings = Annotated[
    tuple[Path, ...],
    Role.READ,
    tyro.conf.arg(metavar="RECORDING…", help_behavior_hint=""),
]
Names = Annotated[
    tuple[str, ...], tyro.conf.arg(metavar="NAME…", help_behavior_hint="")
]
JsonFile = Annotated[
    Path | None, Role.WRITTEN, tyro.conf.arg(metavar="FILE", help_behavior_hint="")
]
ReportFile = Annotated[
    Path | None, Role.WRITTEN, tyro.conf.arg(metavar="FILE.html", help_behavior_hint="")
]
ImporterName = Annotated[
    str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")
]
TwinName = Annotated[
    str, Role.READ, tyro.conf.arg(metavar="TWIN", help_behavior_hint="")
]
RoleNames = tyro.conf.UseAppendAction[
    Annotated[
        tuple[str, ...], tyro.conf.arg(metavar="ROLE=PART", help_behavior_hint="")
    ]
]
UnitName = Annotated[str | None, tyro.conf.arg(metavar="UNIT", help_behavior_hint="")]
BaseName = Annotated[
    str, tyro.conf.arg(metavar="free|world|BODY", help_behavior_hint="")
]
SidecarFile = Annotated[
    Path | None, Role.READ, tyro.conf.arg(metavar="FILE", help_behavior_hint="")
]
Flag = Annotated[
    bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(help_behavior_hint="")
]
KeyFile = Annotated[
    Path | None, Role.READ, tyro.conf.arg(metavar="FILE", help_behavior_hint="")
]


def parse_values(texts: tuple[str, ...]) -> dict[str, bool | int | float | str]:
    """`NAME=VALUE` … of --set: whole numbers, numbers, true or false, else words."""
    from realworthy.errors import RealworthyError

    found: dict[str, bool | int | float | str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not (name and sign and value):
            raise RealworthyError(
                f"--set takes NAME=VALUE, not '{text}'.", hint="Try: --set torque=1.5"
            )
        found[name] = _read_value(value)
    return found


def _read_value(text: str) -> bool | int | float | str:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parse_numbers(
    texts: tuple[str, ...], option: str, *, value: str, example: str
) -> dict[str, float]:
    """`NAME=VALUE` … of an option as a mapping; `value` is what the page calls it."""
    from realworthy.errors import RealworthyError

    found = {}
    for text in texts:
        name, sign, number = text.partition("=")
        try:
            found[name] = float(number)
        except ValueError:
            sign = ""
        if not sign or not name:
            raise RealworthyError(
                f"{option} takes NAME={value}, not '{text}'.",
                hint=f"Try: {option} {example}",
            )
    return found
