"""What a recording's numbers do not say: its robot, its commands, how to read it.

A sidecar lies beside its file as `<name>.yaml` (`run.yaml` for `run.csv.gz`), or inside
it where the format has room (npz, parquet, mcap). Every key is optional: a missing one
is estimated or asked for, never guessed silently.
"""

from pathlib import Path
from typing import Literal

import msgspec

from realworthy import artefacts
from realworthy.artefacts import reading
from realworthy.artefacts.numbers import Finite, NotNegative, Positive
from realworthy.errors import BadFile

SCHEMA = 1

CommandKind = Literal["position", "velocity", "torque", "voltage"]


class SignalSource(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """How one signal is made: sign · scale · unit · source(time + delay) + offset."""

    source: str | None = None
    """Column to read; the signal's own name when not given. In an entry for many
    signals, `*` or `{i}` stands for a joint (`patterns.py`)."""
    unit: str | None = None
    """What the column is in, such as deg, rpm, ms, ticks/4096 or mA; SI by default."""
    constant: Positive | None = None
    """[N·m/A] of the motor at its joint, which makes a torque of a current."""
    sign: Literal[1, -1] = 1
    scale: Finite = 1.0
    """A further factor: of a gear, or to SI units where no `unit` names them."""
    offset: Finite = 0.0
    """Added last, in SI units."""
    delay: Finite = 0.0
    """Seconds by which the column is late: what it says at t happened at t - delay."""


class Gains(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What the drive itself closed the loop with."""

    kp: NotNegative | None = None
    """Stiffness [N·m/rad], or [N·m·s/rad] around a velocity."""
    kd: NotNegative | None = None
    """Damping [N·m·s/rad]."""


class SignalNoise(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Standard deviations of what the sensors add."""

    position: NotNegative | None = None
    """[rad]"""
    velocity: NotNegative | None = None
    """[rad/s]"""
    torque: NotNegative | None = None
    """[N·m]"""


class Sidecar(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """Facts about a recording; strict, so that a misspelt key is an error."""

    # A factory, because a plain default would be left out of the file.
    schema: int = msgspec.field(default_factory=lambda: SCHEMA)
    twin: str | None = None
    """The robot: a built-in name, `menagerie:<robot>` or a path."""
    command_kind: CommandKind | None = None
    """What `<joint>.command` asks for."""
    rate: NotNegative | None = None
    """Rows per second that the recorder meant to write [Hz]."""
    gains: dict[str, Gains] = {}
    """By joint."""
    parameters: dict[str, Finite] = {}
    """Numbers that held while recording and differ from run to run, by their names in
    the twin: a firmware's gain, the supply's voltage, a payload's mass. A replay takes
    them in place of the twin's own."""
    noise: SignalNoise = SignalNoise()
    velocity_filter_hz: Positive | None = None
    """Cut-off of the drive's velocity filter [Hz]."""
    joints: tuple[str, ...] = ()
    """In the order of the columns, for entries of the mapping that count by `{i}`."""
    repeat_group: str | None = None
    """Recordings with the same text here repeat one experiment."""
    mapping: dict[str, SignalSource] = {}
    """By signal; applied when the file is loaded, then kept in `notes`."""
    notes: dict[str, object] = {}
    """Anything else."""


def plain_name(path: Path) -> str:
    """The file's name without its format: `run` for `run.csv.gz`."""
    name = path.name
    for ending in (
        ".gz",
        ".csv",
        ".npz",
        ".parquet",
        ".mcap",
        ".json",
        ".bag",
        ".journal",
    ):
        name = name.removesuffix(ending)
    return name


def sidecar_path(path: Path) -> Path:
    """Where the sidecar of a file or folder lies."""
    return path.with_name(plain_name(path) + ".yaml")


def load_sidecar(path: Path | str) -> Sidecar:
    """The sidecar in a YAML file."""
    return artefacts.load(path, Sidecar, schema=SCHEMA)


def save_sidecar(
    sidecar: Sidecar, path: Path | str, *, overwrite: bool = False
) -> None:
    """Writes a sidecar as YAML, whole or not at all."""
    artefacts.save(path, sidecar, overwrite=overwrite)


def to_json(sidecar: Sidecar) -> str:
    """Text for the metadata of npz, parquet and mcap files."""
    return msgspec.json.encode(sidecar).decode()


def from_json(text: str | bytes, path: Path) -> Sidecar:
    """The sidecar embedded in `path`."""
    newer = "A newer Realworthy may have written it; "
    newer += "try: pip install --upgrade realworthy"
    with reading(path, "a recording with a whole sidecar in it", hint=newer):
        try:
            sidecar = msgspec.json.decode(text, type=Sidecar)
        except msgspec.MsgspecError as error:
            problem = f"its embedded sidecar cannot be read: {error}."
            raise BadFile(path, problem, hint=newer) from None
    if sidecar.schema > SCHEMA:
        raise BadFile(
            path,
            f"its sidecar has schema {sidecar.schema}; this Realworthy reads {SCHEMA}.",
            hint="Try: pip install --upgrade realworthy",
        )
    return sidecar


def overlay(base: Sidecar, top: Sidecar) -> Sidecar:
    """`base` with every key that `top` gives; notes, gains, mappings, numbers join."""
    given = {key: getattr(top, key) for key in msgspec.to_builtins(top)}
    for key in ("gains", "mapping", "notes", "parameters"):
        if key in given:
            given[key] = {**getattr(base, key), **given[key]}
    return msgspec.structs.replace(base, **given)
