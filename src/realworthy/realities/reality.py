"""The file of a reality, and the ones that come with Realworthy."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from realworthy import artefacts
from realworthy.errors import RealworthyError, UnknownName
from realworthy.realities.effects import Effect
from realworthy.realities.interface import Interface
from realworthy.twins import Twin, builtin_names, load_twin

SCHEMA = 1
SUFFIX = ".reality.yaml"
SHIPPED_FOLDER = Path(__file__).parent / "shipped"


class Noise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Standard deviations of what is random."""

    position: float = 0.0
    velocity: float = 0.0
    torque: float = 0.0
    orientation: float = 0.0
    gyro: float = 0.0
    process: float = 0.0
    """[N·m] of random torque on every driven joint, anew each control period."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not getattr(self, name) >= 0:
                raise RealworthyError(f"noise: {name} is negative or not a number.")


class RealityFile(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """`*.reality.yaml`."""

    schema: int
    twin: str
    seed: int = 0
    description: str = ""
    parameters: dict[str, float] = {}
    """True e, by parameter name."""
    effects: list[Effect] = []
    interface: Interface = Interface()
    noise: Noise = Noise()
    rate: float = 0.0
    """[Hz] at which it likes to be commanded; 0: every 4 substeps of the twin."""
    timestep_factor: float = 1.0
    """Time step of the reality's physics over the twin's: other numerics, same laws."""


@dataclass(frozen=True, kw_only=True)
class Reality:
    """A truth: `file` as written, and the twin it starts from."""

    name: str
    file: RealityFile
    twin: Twin


def reality_names() -> tuple[str, ...]:
    """Realities that come with Realworthy, easy to hard within each twin."""
    paths = SHIPPED_FOLDER.glob("*" + SUFFIX)
    return tuple(sorted(path.name.removesuffix(SUFFIX) for path in paths))


def load_reality(reference: str | Path) -> Reality:
    """A shipped reality's name, or a `*.reality.yaml` file."""
    text = str(reference)
    if text in reality_names():
        path = SHIPPED_FOLDER / (text + SUFFIX)
    elif text.endswith((".yaml", ".yml")):
        path = Path(reference)
    else:
        hint = f"Or give a *{SUFFIX} file. All: realworthy show realities"
        raise UnknownName(
            "reality", text, reality_names(), owner="Realworthy", hint=hint
        )
    file = artefacts.load(path, RealityFile, schema=SCHEMA)
    return make_reality(path.name.removesuffix(SUFFIX), file, folder=path.parent)


def make_reality(name: str, file: RealityFile, *, folder: Path = Path()) -> Reality:
    """A reality from its description; every name in it is checked."""
    built_in = file.twin in builtin_names() or ":" in file.twin
    twin = load_twin(file.twin if built_in else folder / file.twin)
    for parameter in file.parameters:
        twin.space.index(parameter)
    return Reality(name=name, file=file, twin=twin)


def save_reality(
    file: RealityFile, path: Path | str, *, overwrite: bool = False
) -> None:
    """Writes `*.reality.yaml`, whole or not at all."""
    if not str(path).endswith(SUFFIX):
        raise RealworthyError(f"A reality's file name ends in {SUFFIX}, not '{path}'.")
    artefacts.save(path, file, overwrite=overwrite)
