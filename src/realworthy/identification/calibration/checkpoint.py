"""What a long calibration has done so far, on disk, so that nothing is done twice."""

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import msgspec
from msgspec.structs import replace

from realworthy import __version__, artefacts
from realworthy.errors import BadFile, Unwritable
from realworthy.identification.calibration.parameter_choice import ParameterChoice
from realworthy.identification.calibration.servo_forms import ServoForm
from realworthy.recordings import Recording
from realworthy.twins import Twin

SCHEMA = 1


class RoughPart(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Shared numbers, roughly."""

    values: dict[str, float]
    """Name of a joint's own number → value."""
    weight: float | None
    """Squared size of residuals beside white noise; None: not known yet."""
    is_alone: bool = False
    """Whether joints were fitted one by one, and need only be refined."""
    table: float | None = None
    """Height [m] of a surface that the model lacks."""
    said: list[str] = []
    """What a reader should know of this part."""
    strange: list[int] = []
    """Recordings, by number, that are not like the others."""
    form: ServoForm | None = None
    """What servos have, where there are any."""
    is_fitted: bool = False
    """Whether these are numbers of a first fit, after which others are told."""
    offsets: dict[str, float] = {}
    """Encoder offsets of that fit: the next one begins there, but believes in none."""
    cut: list[str] | None = None
    """What was left out after a fit did not tell it, once that was asked."""


class LeftOutPart(msgspec.Struct, forbid_unknown_fields=True):
    """A number that is not fitted."""

    name: str
    verdict: str
    sd: float
    partners: list[str]


class ChoicePart(msgspec.Struct, forbid_unknown_fields=True):
    """Which numbers are fitted."""

    names: list[str]
    left_out: list[LeftOutPart]
    shift_sd_z: list[float] = []
    """By name: how far others that are held may shift it."""
    partners: list[list[str]] = []
    """By name: those others."""


class FitPart(msgspec.Struct, forbid_unknown_fields=True):
    """The fit, in coordinates of its parameters."""

    z: list[float]
    covariance_z: list[list[float]]
    reduced_chi2: float
    inflation: float
    outlier_share: float
    warnings: list[str]
    evaluation_count: int
    folds_z: list[list[float]]
    folds_rmse: float | None
    by_experiment: bool
    is_minimum: bool = True
    """Whether the search ended where no step promises much; least squares goes on from
    anywhere, and says itself where it stopped."""


class CheckpointFile(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """`<output>.partial`."""

    schema: int
    key: str
    """Of the twin, the recordings and what was asked: another key, another work."""
    is_ahead: bool = False
    """Whether predictions from measured states are fitted instead of replays."""
    rough: RoughPart | None = None
    choice: ChoicePart | None = None
    fit: FitPart | None = None


class Checkpoint:
    """Parts of a calibration that are done; kept in a file where there is one."""

    def __init__(self, path: Path | None, key: str) -> None:
        self._path = path
        self.done = CheckpointFile(schema=SCHEMA, key=key)
        if path is None or not path.exists():
            return
        try:
            found = artefacts.load(path, CheckpointFile, schema=SCHEMA)
        except BadFile as error:
            _put_aside(path, error.problem)
            return
        if found.key != key:
            what = "keeps the unfinished calibration of another twin, of other "
            _put_aside(path, f"{path} {what}recordings, or with other options.")
            return
        self.done = found

    def look_ahead(self) -> None:
        """Begins anew with predictions from measured states."""
        done = self.done
        self.done = CheckpointFile(schema=done.schema, key=done.key, is_ahead=True)
        self.save()

    @property
    def may_cut(self) -> bool:
        """Whether numbers that a fit does not tell can still be left out."""
        rough = self.done.rough
        return rough is None or not (rough.form or rough.cut is not None)

    def choose_anew(
        self,
        values: dict[str, float],
        weight: float,
        *,
        offsets: dict[str, float],
        cut: Sequence[str] | None = None,
    ) -> None:
        """Asks again what the recordings tell, around a first fit.

        It did not tell what it was to tell: `cut` of that is left out then; once.
        """
        rough = self.done.rough or RoughPart({}, None)
        values = rough.values | values
        self.done.rough = replace(
            rough,
            values=values,
            weight=weight,
            is_fitted=True,
            offsets=offsets,
            cut=rough.cut if cut is None else list(cut),
        )
        self.done.choice = None
        self.save()

    def save(self) -> None:
        """Writes what is done, whole or not at all."""
        if self._path is not None:
            artefacts.save(self._path, self.done, overwrite=True)


@contextmanager
def resuming(path: Path | None, key: str) -> Iterator[Checkpoint]:
    """Work that goes on where it was interrupted or killed; for one run at a time.

    Work that fails leaves no file: the same would fail alike, and other work must not
    trip over it. A full disk or a want of memory is no such failure.
    """
    with nullcontext() if path is None else artefacts.locked_file(path):
        work = Checkpoint(path, key)
        try:
            yield work
        except (Unwritable, OSError, MemoryError):
            raise
        except Exception:
            if path is not None:
                path.unlink(missing_ok=True)
            raise


def _put_aside(path: Path, why: str) -> None:
    aside = artefacts.put_aside(path)
    warnings.warn(
        f"{why} It is {aside} now; give it its old name to go on with it.",
        stacklevel=4,
    )


def to_part(choice: ParameterChoice) -> ChoicePart:
    """A choice as it is kept."""
    return ChoicePart(
        names=list(choice.names),
        left_out=[
            LeftOutPart(x.name, x.verdict, x.sd, list(x.partners))
            for x in choice.left_out
        ],
        shift_sd_z=list(choice.shift_sd_z),
        partners=[list(own) for own in choice.partners],
    )


def make_key(
    twin: Twin,
    fitted: Sequence[Recording],
    held_out: Sequence[Recording],
    asked: object,
) -> str:
    """Hash of everything that an answer depends on."""
    digest = hashlib.sha256(f"{__version__}\n{twin.name}\n{twin.model}\n".encode())
    digest.update(twin.base_spec.to_xml().encode())
    digest.update(msgspec.json.encode(dict(twin.parameters)))
    digest.update(repr(asked).encode())
    for recording in (*fitted, *held_out):
        digest.update(recording.sha256().encode())
    return digest.hexdigest()
