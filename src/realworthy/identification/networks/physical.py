"""Other numbers in the same description of a drive.

The best physical model of a drive on a bench: what a network is held against.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.actuators import KINDS, Actuator, BenchLoad, build_law, compute_box
from realworthy.errors import UnknownParameter
from realworthy.identification.networks.runs import DriveRun, follow, run_freely

Floats = NDArray[np.float64]

S = TypeVar("S", bound=msgspec.Struct)


def replace_numbers(description: S, numbers: Mapping[str, float]) -> S:
    """The description with other numbers, also in the descriptions inside it."""
    changes: dict[str, object] = {}
    for name in description.__struct_fields__:
        value = getattr(description, name)
        if isinstance(value, msgspec.Struct):
            changes[name] = replace_numbers(value, numbers)
        elif name in numbers and name in KINDS and value is not None:
            changes[name] = numbers[name]
    return msgspec.structs.replace(description, **changes)


_STEP = 1e-3
"""Of central differences in logarithms: 0.1 % of a number."""
_MIN_CHANGE = 1e-6
"""Least number, so that its logarithm exists; far below any friction or inertia of a
joint in SI units."""


@dataclass(kw_only=True, slots=True)
class PhysicalSettings:
    """How a physical model is fitted to bench runs."""

    to: Literal["position", "torque"] = "position"
    """What it should predict: positions running freely, or torques as measured."""
    gain_kind: str | None = None
    """Number of the controller that a run's `gain` multiplies, such as duty_gain."""
    timestep: float = 0.001
    evaluations: int = 30


def fit_physical(
    actuator: Actuator,
    kinds: Sequence[str],
    runs: Sequence[DriveRun],
    bench: BenchLoad,
    settings: PhysicalSettings | None = None,
) -> Actuator:
    """The actuator with numbers `kinds` fitted by least squares, from its own values.

    Numbers are searched on a logarithmic scale, within their default boxes.
    """
    from scipy.optimize import least_squares

    settings = settings or PhysicalSettings()
    numbers = actuator.parameters()
    for kind in kinds:
        if kind not in numbers:
            owner = f"actuator of '{actuator.joint}'"
            raise UnknownParameter(kind, numbers, owner=owner)
    boxes = np.array([compute_box(kind, numbers[kind]) for kind in kinds])
    low, high = np.log(np.maximum(boxes, _MIN_CHANGE)).T
    start = np.log(np.maximum([numbers[kind] for kind in kinds], 10 * _MIN_CHANGE))
    start = np.clip(start, low + 1e-6, high - 1e-6)
    law = build_law(actuator, timestep=settings.timestep)
    if "delay" in kinds:
        longest = float(boxes[list(kinds).index("delay"), 1])
        roomy = msgspec.structs.replace(actuator, delay_limit=longest)
        law = build_law(roomy, timestep=settings.timestep)

    def predict(z: Floats) -> Floats:
        """(candidates, samples) for (candidates, d)."""
        tiled = list(runs) * len(z)
        values = {
            kind: np.repeat(np.exp(z[:, i]), len(runs)) for i, kind in enumerate(kinds)
        }
        values |= _gains(settings.gain_kind, numbers, tiled, values)
        if settings.to == "torque":
            values.pop("armature", None)
            positions = follow(law, bench, tiled, parameters=values)
        else:
            positions = run_freely(law, bench, tiled, parameters=values)
        count = len(runs)
        return np.stack(
            [
                np.concatenate(positions[i * count : (i + 1) * count])
                for i in range(len(z))
            ]
        )

    measured = [r.torque if settings.to == "torque" else r.position for r in runs]
    truth = np.concatenate(measured)

    def residuals(z: Floats) -> Floats:
        return np.nan_to_num(predict(z[None])[0], nan=1e3, posinf=1e3) - truth

    def jacobian(z: Floats) -> Floats:
        steps = _STEP * np.eye(len(z))
        around = predict(np.concatenate([z + steps, z - steps]))
        return ((around[: len(z)] - around[len(z) :]) / (2 * _STEP)).T

    solution = least_squares(
        residuals,
        start,
        jac=jacobian,  # pyright: ignore[reportArgumentType]
        bounds=(low, high),
        loss="soft_l1",
        f_scale=max(float(np.std(truth)), 1e-6) * 0.3,
        max_nfev=settings.evaluations,
    )
    return replace_numbers(
        actuator, dict(zip(kinds, np.exp(solution.x).tolist(), strict=True))
    )


def _gains(
    kind: str | None,
    numbers: Mapping[str, float],
    runs: Sequence[DriveRun],
    values: Mapping[str, Floats],
) -> dict[str, Floats]:
    """The firmware's gain of each run, times what is fitted of it."""
    if kind is None:
        return {}
    gain = np.array([run.gain for run in runs])
    return {kind: gain * values.get(kind, np.full(len(runs), numbers[kind]))}
