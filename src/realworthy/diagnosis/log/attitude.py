"""Orientation against gyro and accelerometer: order of numbers, frames, units, clocks.

How an orientation turns from row to row, seen from the body, is what a gyro measures;
where the world's up lies in the body is what an accelerometer measures while nothing
pushes. The four numbers of an orientation have unit length in any order, so only these
tell the order. `<x>orientation` is held against `<x>gyro` and `<x>accelerometer`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from realworthy.diagnosis.fix import Fix, apply_fix, fix_frame, fix_quaternion
from realworthy.diagnosis.log.alike import compute_integral
from realworthy.diagnosis.log.finding import Answer, Finding
from realworthy.diagnosis.log.lags import LATE_ROWS, estimate_lag
from realworthy.diagnosis.log.vectors import Match, match
from realworthy.recordings import Recording, SignalSource
from realworthy.recordings.signals import AXES, quaternions
from realworthy.recordings.units import DEGREE

Floats = NDArray[np.float64]

ORDERS = {
    "w, x, y, z": ("wxyz", False),
    "x, y, z, w": ("zwxy", False),
    "z, w, x, y (turned round twice)": ("xyzw", False),
    "w, x, y, z of the inverse": ("wxyz", True),
    "x, y, z, w of the inverse": ("zwxy", True),
}
"""What the four columns really hold → columns of (w, x, y, z), and whether inverted."""
WINDOWS = (1, 2, 4, 8, 16)
GOOD, POOR = 0.93, 0.8
"""Cosine of what agrees, and of what surely does not."""
TILTED = 0.05
"""[rad] from which a rotation between frames matters."""
GAIN = 0.5
"""Share of the disagreement that a rotation must explain on unseen pieces."""
FEW_ROWS = 40
STANDARD_GRAVITY = 9.80665


@dataclass(frozen=True, slots=True)
class Attitude:
    """The sensors of one place on the robot."""

    orientation: str
    gyro: str
    accelerometer: str


def inspect_attitude(recording: Recording) -> list[Finding]:
    """`clock_offset`, `quaternion_order`, then `frame` and `unit_scale` of sensors."""
    found: list[Finding] = []
    for stem in quaternions(recording.signals):
        place = stem.removesuffix("orientation")
        at = Attitude(stem, f"{place}gyro", f"{place}accelerometer")
        late = _inspect_lag(recording, at) if _has(recording, at.gyro) else []
        timed = _mend(recording, late)
        order = _inspect_order(timed, at)
        found += [*late, order]
        mended = _mend(timed, [order])
        if _has(recording, at.gyro) and order.answer is not Answer.CANNOT_TELL:
            found += _inspect_gyro(mended, at)
        if _has(recording, at.accelerometer):
            found += _inspect_accelerometer(mended, at)
    return found


def _mend(recording: Recording, findings: list[Finding]) -> Recording:
    for finding in findings:
        if finding.fix is not None:
            recording = apply_fix(recording, finding.fix)
    return recording


def _inspect_order(recording: Recording, at: Attitude) -> Finding:
    name, about = "quaternion_order", (at.orientation,)
    if not _has(recording, at.gyro) or len(recording.time) < FEW_ROWS:
        evidence = f"there is no {at.gyro} to hold {at.orientation} against."
        if _has(recording, at.gyro):
            evidence = f"{len(recording.time)} rows are too few."
        return Finding(
            name=name, answer=Answer.CANNOT_TELL, joints=about, evidence=evidence
        )
    scores = {
        order: _match_gyro(apply_fix(recording, _reorder(at, order)), at)
        for order in ORDERS
    }
    found = {order: score for order, score in scores.items() if score is not None}
    plain = {order: score.plain for order, score in found.items()}
    said = next(iter(ORDERS))
    best = max(plain, key=lambda order: plain[order], default=said)
    own = found.get(said)
    if own is not None and (own.plain > GOOD or best == said):
        agrees = max(own.plain, own.turned) > GOOD
        return Finding(
            name=name,
            answer=Answer.IN_ORDER if agrees else Answer.CANNOT_TELL,
            joints=about,
            size=own.plain,
            evidence=f"{at.orientation} turns as {at.gyro} says (cosine "
            f"{own.plain:.3f}, {own.turned:.3f} with a rotation between them).",
        )
    if own is None or plain[best] < GOOD or plain[said] > POOR:
        if own is not None and own.turned > GOOD:
            evidence = f"{at.orientation} turns as {at.gyro} says, in another frame."
            return Finding(
                name=name, answer=Answer.IN_ORDER, joints=about, evidence=evidence
            )
        evidence = (
            f"in no order does {at.orientation} turn as {at.gyro} says (best cosine "
            f"{max(plain.values(), default=0.0):.2f}): too little motion, or noise."
        )
        return Finding(
            name=name, answer=Answer.CANNOT_TELL, joints=about, evidence=evidence
        )
    return Finding(
        name=name,
        answer=Answer.FAULT,
        joints=about,
        size=plain[best],
        evidence=f"{at.orientation} holds {best}: so read it turns as {at.gyro} says "
        f"(cosine {plain[best]:.3f}), as it is it does not ({plain[said]:.2f}).",
        next_step="Rename the four columns in the sidecar.",
        fix=_reorder(at, best),
    )


def _inspect_gyro(recording: Recording, at: Attitude) -> list[Finding]:
    compared = _match_gyro(recording, at)
    if compared is None or max(compared.plain, compared.turned) < GOOD:
        return []
    found = [_judge_frame(compared, at.gyro, at.orientation)]
    if abs(compared.scale * DEGREE - 1) < 0.1:
        found.append(
            Finding(
                name="unit_scale",
                answer=Answer.FAULT,
                joints=(at.gyro,),
                size=DEGREE,
                evidence=f"{at.gyro} is in degrees per second: it is "
                f"{compared.scale:.4g} times as large as {at.orientation} turns.",
                next_step="Scale it in the sidecar.",
                fix=Fix(
                    summary=f"{at.gyro} from degrees",
                    mapping={
                        f"{at.gyro}.{a}": SignalSource(scale=DEGREE) for a in "xyz"
                    },
                ),
            )
        )
    return found


def _inspect_lag(recording: Recording, at: Attitude) -> list[Finding]:
    """When the gyro tells what the orientation does, by how fast each says it turns.

    That speed is the same in any frame and in any order of the four numbers.
    """
    if len(recording.time) < FEW_ROWS:
        return []
    turned = np.linalg.norm(_increments(recording, at.orientation, 1), axis=1)
    # A move from one row to the next is measured half-way between them.
    gyro = _stack(recording, at.gyro)
    speed = np.linalg.norm(0.5 * (gyro[1:] + gyro[:-1]), axis=1)
    lag = estimate_lag(recording.time[:-1], turned / np.diff(recording.time), speed)
    if lag is None:
        return []
    is_late = lag.is_clear(1 / recording.rate)
    is_much = abs(lag.seconds) > LATE_ROWS / recording.rate
    otherwise = Answer.NOTE if is_much else Answer.IN_ORDER
    return [
        Finding(
            name="clock_offset",
            answer=Answer.FAULT if is_late else otherwise,
            joints=(at.gyro,),
            size=lag.seconds,
            interval=lag.interval,
            evidence=f"{at.gyro} comes {1e3 * lag.seconds:.3g} ms "
            f"({1e3 * lag.interval[0]:.3g} … {1e3 * lag.interval[1]:.3g}) after "
            f"{at.orientation} (correlation {lag.alike:.3f})"
            f"{'; a filter explains that as well' if is_much and not is_late else ''}.",
            next_step="Stamp both where they are measured." if is_late else "",
            fix=Fix(
                summary=f"{at.gyro} {1e3 * lag.seconds:.4g} ms earlier",
                mapping={
                    f"{at.gyro}.{a}": SignalSource(delay=lag.seconds) for a in "xyz"
                },
            )
            if is_late
            else None,
        )
    ]


def _inspect_accelerometer(recording: Recording, at: Attitude) -> list[Finding]:
    measured = _stack(recording, at.accelerometer)
    sizes = np.linalg.norm(measured, axis=1)
    calm = np.abs(sizes / STANDARD_GRAVITY - 1) < 0.05
    if np.count_nonzero(calm) < FEW_ROWS:
        return []
    up = _rotations(recording, at.orientation)[calm].inv().apply([0.0, 0.0, 1.0])
    compared = match(up, measured[calm])
    if compared is None or max(compared.plain, compared.turned) < GOOD:
        return []
    return [_judge_frame(compared, at.accelerometer, at.orientation)]


def _judge_frame(compared: Match, sensor: str, orientation: str) -> Finding:
    low, high = compared.interval
    is_fault = compared.gain > GAIN and low > TILTED
    size = f"{np.degrees(compared.angle):.3g}° "
    size += f"({np.degrees(low):.3g} … {np.degrees(high):.3g})"
    matrix, words = _snap(compared.matrix, compared.interval)
    evidence = (
        f"{sensor} and {orientation} share a frame (cosine {compared.plain:.3f})."
    )
    if is_fault:
        evidence = (
            f"{sensor} is turned by {size} against {orientation}{words}; taking that "
            f"off explains {compared.gain:.0%} of what disagrees on unseen rows."
        )
    return Finding(
        name="frame",
        answer=Answer.FAULT if is_fault else Answer.IN_ORDER,
        joints=(sensor,),
        size=compared.angle if is_fault else 0.0,
        interval=compared.interval if is_fault else None,
        evidence=evidence,
        next_step="Look how the sensor is mounted, and turn its axes before logging."
        if is_fault
        else "",
        fix=fix_frame(sensor, matrix.T) if is_fault else None,
    )


def _snap(matrix: Floats, interval: tuple[float, float]) -> tuple[Floats, str]:
    """The rotation, in words where it only exchanges axes."""
    nearest = np.round(matrix)
    off = (
        Rotation.from_matrix(matrix @ nearest.T).magnitude() if _is_swap(nearest) else 9
    )
    if off > max(0.05, interval[1] - interval[0]):
        return matrix, ""
    names = [
        f"its {axis} is the body's {'-' if row.sum() < 0 else ''}"
        f"{'xyz'[int(np.flatnonzero(row)[0])]}"
        for axis, row in zip("xyz", nearest, strict=True)
    ]
    return nearest, f" ({', '.join(names)})"


def _is_swap(matrix: Floats) -> bool:
    return bool(np.allclose(matrix @ matrix.T, np.eye(3)))


def _match_gyro(recording: Recording, at: Attitude) -> Match | None:
    """The orientation's moves against the gyro's, at the window that shows it best."""
    gyro = _stack(recording, at.gyro)
    integral = np.stack(
        [compute_integral(recording.time, gyro[:, i]) for i in range(3)], axis=1
    )
    best: Match | None = None
    for window in WINDOWS:
        if 4 * window > len(gyro):
            break
        turned = _increments(recording, at.orientation, window)
        if window > 1 and np.quantile(np.linalg.norm(turned, axis=1), 0.9) > 0.7:
            break  # so far round that rotations no longer add up
        compared = match(turned, integral[window:] - integral[:-window])
        if compared is None:
            continue
        if best is None or max(compared.plain, compared.turned) > max(
            best.plain, best.turned
        ):
            best = compared
    return best


def _increments(recording: Recording, stem: str, window: int) -> Floats:
    """(rows - window, 3) rotation vectors in the body's frame [rad]."""
    turns = _rotations(recording, stem)
    return (turns[:-window].inv() * turns[window:]).as_rotvec()


def _rotations(recording: Recording, stem: str) -> Rotation:
    quats = np.stack([recording.signals[f"{stem}.{a}"] for a in AXES], axis=1)
    return Rotation.from_quat(quats, scalar_first=True)


def _reorder(at: Attitude, order: str) -> Fix:
    columns, is_inverse = ORDERS[order]
    return fix_quaternion(at.orientation, columns, is_inverse=is_inverse)


def _stack(recording: Recording, stem: str) -> Floats:
    return np.stack([recording.signals[f"{stem}.{axis}"] for axis in "xyz"], axis=1)


def _has(recording: Recording, stem: str) -> bool:
    return all(f"{stem}.{axis}" in recording.signals for axis in "xyz")
