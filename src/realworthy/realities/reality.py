"""A reality: a truth that only its stand-in knows, and the ones that are shipped."""

from dataclasses import dataclass, field
from pathlib import Path

from realworthy import artefacts
from realworthy.errors import BadFile, RealworthyError, UnknownName
from realworthy.realities.file import SCHEMA, RealityFile
from realworthy.realities.truth import build_truth
from realworthy.twins import BoundTwin, Twin, load_twin

SUFFIX = ".reality.yaml"
SHIPPED_FOLDER = Path(__file__).parent / "shipped"
_TWIN_FILES = (".yaml", ".xml", ".urdf", ".mjcf")


@dataclass(frozen=True, kw_only=True)
class Reality:
    """A truth: `file` as written, the twin it starts from, and what that really is."""

    name: str
    file: RealityFile
    twin: Twin
    truth: BoundTwin = field(repr=False)


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
    try:
        return make_reality(path.name.removesuffix(SUFFIX), file, folder=path.parent)
    except RealworthyError as error:
        raise BadFile(path, error.problem, hint=error.hint) from None


def make_reality(name: str, file: RealityFile, *, folder: Path = Path()) -> Reality:
    """A reality from its description; every name and number in it is checked.

    `folder` is where a twin file is looked for.
    """
    is_path = file.twin.endswith(_TWIN_FILES)
    twin = load_twin(folder / file.twin if is_path else file.twin)
    return Reality(name=name, file=file, twin=twin, truth=build_truth(file, twin))


def save_reality(
    file: RealityFile, path: Path | str, *, overwrite: bool = False
) -> None:
    """Writes `*.reality.yaml`, whole or not at all."""
    if not str(path).endswith(SUFFIX):
        raise RealworthyError(f"A reality's file name ends in {SUFFIX}, not '{path}'.")
    artefacts.save(path, file, overwrite=overwrite)
