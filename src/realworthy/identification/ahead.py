"""Recordings predicted a little ahead, where a whole replay means nothing.

Where a small error of the start grows, as in a double pendulum, two replays of one
recording part after seconds whatever the model is worth. Where the twin lacks something
that no servo makes up for, whole replays add it up. Then predictions from measured
states are fitted and compared instead, as `measure` has them among its horizons.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from realworthy.gap.noise import estimate_noise
from realworthy.gap.states import estimate_states
from realworthy.identification.calibration import Error
from realworthy.recordings import Recording, distinct_names
from realworthy.simulators.replay import Replayer, is_sound, lay_out
from realworthy.twins import Twin

AHEAD = 0.5
"""[s] ahead that recordings are predicted, to fit and to judge."""
_STARTS = 64
GROWS = (
    "Small errors of a start grow in this machine, so no replay of a whole recording "
    f"can tell: held-out recordings were predicted {AHEAD:g} s ahead from measured "
    "states."
)
ADDS_UP = (
    "The twin lacks something that whole replays add up: it was fitted to predictions "
    f"{AHEAD:g} s ahead from measured states, and judged by such."
)


def compare_ahead(
    before: Twin, after: Twin, held_out: Sequence[Recording], joints: Sequence[str]
) -> tuple[Error, ...]:
    """Predictions of every held-out recording by both twins."""
    return tuple(
        Error(
            recording=name or "recording",
            before=predict_ahead(before, recording, joints),
            after=predict_ahead(after, recording, joints),
        )
        for recording, name in zip(held_out, distinct_names(held_out), strict=True)
    )


def predict_ahead(twin: Twin, recording: Recording, joints: Sequence[str]) -> float:
    """[rad or m] root mean square `AHEAD` after many measured states; inf if none."""
    squares = predict_each(twin, recording, joints, count=_STARTS)
    sound = squares[np.isfinite(squares)]
    return float(np.sqrt(np.mean(sound))) if len(sound) else float("inf")


def predict_each(
    twin: Twin, recording: Recording, joints: Sequence[str], *, count: int
) -> NDArray[np.float64]:
    """(starts,) squared errors [rad² or m²] `AHEAD` after up to `count` measured
    states, means over joints; inf where the simulation blew up."""
    track = lay_out(twin, recording)
    states = estimate_states(track, estimate_noise(recording, track.joints))
    rows = min(max(1, round(AHEAD * recording.rate)), len(track.rows) - 1)
    starts = np.unique(np.linspace(0, len(track.rows) - 1 - rows, count).astype(int))
    played = Replayer(track, len(starts)).play(
        starts,
        rows + 1,
        position=states.position[starts],
        velocity=states.velocity[starts],
    )
    columns = [i for i, joint in enumerate(track.joints) if joint in joints]
    off = played.position[:, -1] - track.position[starts + rows]
    return np.where(is_sound(played), np.mean(off[:, columns] ** 2, axis=1), np.inf)
