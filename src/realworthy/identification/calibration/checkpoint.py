"""What a long calibration has done so far, on disk, so that nothing is done twice.

An algorithm names its steps, and asks for each by name (`Checkpoint.once`): one that
was done before comes back as it was left, one that was not is done and kept. So the
algorithms read top to bottom, and interrupted work goes on behind its last whole step.
"""

import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy import __version__, artefacts
from realworthy.errors import BadFile, Unwritable
from realworthy.identification.calibration.parameter_choice import ParameterChoice
from realworthy.identification.calibration.servo_forms import ServoForm
from realworthy.identification.problem.problem import Problem
from realworthy.identification.solver.fit import Fit
from realworthy.identification.validation.resampling import FoldEstimates
from realworthy.recordings import Recording
from realworthy.twins import Twin

Floats = NDArray[np.float64]
SCHEMA = 2


class StartPart(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True, kw_only=True
):
    """Numbers from which a fit departs, and what was noticed on the way."""

    values: dict[str, float] = {}
    """Parameter → value."""
    misfit: float | None = None
    """Squared size of residuals beside white noise; None: not known yet."""
    surface_height: float | None = None
    """[m] of a surface that the model lacks."""
    notes: tuple[str, ...] = ()
    """What a reader should know of this step."""
    outlying: tuple[int, ...] = ()
    """Recordings, by number, that are not like the others."""
    form: ServoForm | None = None
    """What servos have whose firmware closes its loop in the twin."""


class FitPart(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True, kw_only=True
):
    """A fit, in coordinates of its parameters, and what it says without some data."""

    z: list[float]
    covariance_z: list[list[float]]
    reduced_chi2: float
    inflation: float
    outlier_share: float
    warnings: list[str]
    evaluation_count: int
    is_minimum: bool
    """Whether the search ended where no step promises much; least squares goes on from
    anywhere, and says itself where it stopped."""
    folds: "FoldsPart | None" = None

    @property
    def misfit(self) -> float:
        """How much larger residuals are than white noise, squared; 1 or more."""
        return max(1.0, self.reduced_chi2 * self.inflation)

    def values(self, problem: Problem) -> dict[str, float]:
        """Parameter → estimate, in its unit."""
        e = problem.coordinates.from_z(np.array(self.z))
        return problem.space.values(e)


class FoldsPart(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True, kw_only=True
):
    """Estimates without some experiments each, in coordinates."""

    z: list[list[float]]
    rmse: float | None
    by_experiment: bool
    apart_z: list[float] = []
    """None: not asked."""

    def to_estimates(self, count: int) -> FoldEstimates:
        """Of `count` parameters."""
        z = np.array(self.z).reshape(len(self.z), count)
        apart = np.array(self.apart_z or [0.0] * count)
        return FoldEstimates(
            z=z, rmse=self.rmse, by_experiment=self.by_experiment, apart_z=apart
        )


def keep_fit(fit: Fit, *, is_minimum: bool) -> FitPart:
    """What is kept of a fit."""
    return FitPart(
        z=fit.z.tolist(),
        covariance_z=fit.covariance_z.tolist(),
        reduced_chi2=fit.reduced_chi2,
        inflation=fit.inflation,
        outlier_share=fit.outlier_share,
        warnings=list(fit.warnings),
        evaluation_count=fit.evaluation_count,
        is_minimum=is_minimum,
    )


def keep_folds(folds: FoldEstimates) -> FoldsPart:
    """What is kept of estimates without some experiments."""
    return FoldsPart(
        z=folds.z.tolist(),
        rmse=folds.rmse,
        by_experiment=folds.by_experiment,
        apart_z=folds.apart_z.tolist(),
    )


class CheckpointFile(msgspec.Struct, forbid_unknown_fields=True):
    """`<output>.partial`."""

    schema: int
    key: str
    """Of the twin, the recordings and what was asked: another key, another work."""
    steps: dict[str, StartPart | ParameterChoice | FitPart | FoldsPart] = {}
    """Name of a step → what came out of it."""


Part = TypeVar("Part", StartPart, ParameterChoice, FitPart, FoldsPart)


class Checkpoint:
    """Steps of a calibration that are done; kept in a file where there is one."""

    def __init__(self, path: Path | None, key: str) -> None:
        self._path = path
        self._file = CheckpointFile(schema=SCHEMA, key=key)
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
        self._file = found

    def once(self, step: str, kind: type[Part], compute: Callable[[], Part]) -> Part:
        """What came out of a step before; else it is done now, and kept."""
        found = self._file.steps.get(step)
        if isinstance(found, kind):
            return found
        made = compute()
        self._file.steps[step] = made
        if self._path is not None:
            artefacts.save(self._path, self._file, overwrite=True)
        return made


@contextmanager
def resuming(path: Path | None, key: str) -> Iterator[Checkpoint]:
    """Work that goes on where it was interrupted or killed; for one run at a time.

    Work that fails leaves no file: the same would fail alike, and other work must not
    trip over it. A full disk or a want of memory is no such failure.
    """
    with nullcontext() if path is None else artefacts.locked_file(path):
        checkpoint = Checkpoint(path, key)
        try:
            yield checkpoint
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
