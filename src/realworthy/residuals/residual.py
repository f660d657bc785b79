"""A learned force as a file: what it sees, how well it did, and its plain arrays."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from realworthy.artefacts import check_free, load, reading, save, writing
from realworthy.artefacts.arrays import read_arrays
from realworthy.errors import BadFile
from realworthy.residuals.arrays import Floats
from realworthy.residuals.ensemble import Ensemble
from realworthy.residuals.envelope import Envelope

SCHEMA = 1
Signal = Literal["position", "velocity", "error"]
"""Of one joint; `error` is its position command minus its position."""
_ENVELOPE = "envelope."


class ResidualEvidence(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """Free-running error on recordings that the weights had not seen."""

    horizon: float
    """[s] for which the twin ran freely from each start."""
    start_count: int
    without: float
    """[rad or m] root mean square position error of the twin alone."""
    with_residual: float
    """[rad or m] the same with the residual."""
    recordings: tuple[str, ...] = ()
    """Hashes of the recordings that it was fitted to."""


class ResidualFile(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """What a residual sees and gives."""

    schema: int = SCHEMA
    joints: tuple[str, ...]
    """That feel its force, in its order."""
    scope: Literal["joint", "robot"]
    """`joint`: one function for all, each joint sees itself alone, so that coupling
    cannot be learned; `robot`: every joint sees all of them."""
    signals: tuple[Signal, ...]
    period: float
    """[s] between the inputs of the history."""
    history: int = 1
    """Inputs of each signal, now included, newest first."""
    stiffness: tuple[float, ...] = ()
    """(joints) [N·m/rad or N/m] that multiply the errors, so that one function serves
    servos of unlike gains; none: errors are seen as they are."""
    gain: float = 1.0
    """Multiplies the force; 0 where held-out recordings spoke against it."""
    file: str = ""
    """.npz of its arrays, beside this file."""
    evidence: ResidualEvidence | None = None
    twin: str = ""
    """Name of the twin that it was fitted on."""
    fingerprint: str = ""
    """Of that twin's model and numbers; it adds to no others."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Residual:
    """Description and weights together; `build_law` makes it run."""

    description: ResidualFile
    ensemble: Ensemble


def save_residual(
    path: Path | str, residual: Residual, *, overwrite: bool = False
) -> None:
    """Writes `<name>.residual.yaml`, and `<name>.residual.npz` beside it."""
    path = Path(path)
    arrays = path.with_suffix(".npz")
    check_free(path, overwrite=overwrite)
    with writing(arrays, overwrite=overwrite) as temporary, temporary.open("wb") as out:
        np.savez(out, allow_pickle=False, **_flatten(residual.ensemble))
    described = msgspec.structs.replace(residual.description, file=arrays.name)
    save(path, described, overwrite=overwrite)


def load_residual(path: Path | str) -> Residual:
    """Reads what `save_residual` wrote; refuses arrays that do not fit."""
    path = Path(path)
    description = load(path, ResidualFile, schema=SCHEMA)
    arrays = path.with_name(description.file)
    with reading(arrays, "a set of a residual's arrays"):
        try:
            ensemble = _unflatten(read_arrays(arrays))
        except KeyError as error:
            raise BadFile(arrays, f"it has no array {error}.") from None
    residual = Residual(description=description, ensemble=ensemble)
    _check(residual, arrays)
    return residual


def count_inputs(description: ResidualFile) -> int:
    """Numbers that one row of the ensemble sees."""
    joints = 1 if description.scope == "joint" else len(description.joints)
    return joints * len(description.signals) * description.history


def weigh_signals(description: ResidualFile) -> Floats:
    """(joints, signals) that multiply signals before the ensemble sees them."""
    weights = np.ones((len(description.joints), len(description.signals)))
    if description.stiffness and "error" in description.signals:
        weights[:, description.signals.index("error")] = description.stiffness
    return weights


def _check(residual: Residual, path: Path) -> None:
    described, ensemble = residual.description, residual.ensemble
    if len(described.stiffness) not in (0, len(described.joints)):
        raise BadFile(
            path,
            f"it has {len(described.joints)} joints and {len(described.stiffness)}"
            " numbers of stiffness.",
        )
    wanted = count_inputs(described)
    outputs = 1 if described.scope == "joint" else len(described.joints)
    shape = len(ensemble.centre), ensemble.heads.shape[-1]
    if shape != (wanted, outputs):
        raise BadFile(
            path,
            f"it has {shape[0]} inputs and {shape[1]} outputs; its description has"
            f" {wanted} and {outputs}.",
        )
    if not all(np.isfinite(a).all() for a in _flatten(ensemble).values()):
        raise BadFile(path, "some of its numbers are not finite.")


def _flatten(ensemble: Ensemble) -> dict[str, np.ndarray]:
    arrays = {
        f.name: np.asarray(getattr(ensemble, f.name))
        for f in fields(Ensemble)
        if f.name != "envelope"
    }
    around = {
        f"{_ENVELOPE}{f.name}": np.asarray(getattr(ensemble.envelope, f.name))
        for f in fields(Envelope)
    }
    return arrays | around


def _unflatten(arrays: dict[str, np.ndarray]) -> Ensemble:
    around = {f.name: arrays[f"{_ENVELOPE}{f.name}"] for f in fields(Envelope)}
    reach = float(around.pop("reach"))
    parts = {f.name: arrays[f.name] for f in fields(Ensemble) if f.name != "envelope"}
    return Ensemble(**parts, envelope=Envelope(**around, reach=reach))
