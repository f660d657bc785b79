"""Recordings that cannot be what they say, left out of a fit by name."""

from collections.abc import Sequence

import numpy as np

from realworthy.recordings import Recording
from realworthy.simulators.replay.inputs import choose_inputs
from realworthy.twins import BoundTwin, Twin, bind
from realworthy.twins.commands import describe_commands

_IMPOSSIBLE_SHARE = 1e-3
"""Share of rows from which impossible torques make a recording doubtful."""


def drop_impossible_torques(
    twin: Twin, recordings: Sequence[Recording]
) -> tuple[tuple[Recording, ...], tuple[str, ...]]:
    """Recordings to fit, and why others are not among them.

    A replay that is driven by a measured torque believes it. Where that torque goes
    beyond what the drive can give, it is the drive's report that is wrong. All are kept
    where none is better.
    """
    bound = bind(twin)
    kept, said = [], []
    for recording in recordings:
        doubt = _find_impossible(bound, recording)
        if doubt is None:
            kept.append(recording)
        else:
            said.append(doubt)
    return (tuple(kept), tuple(said)) if kept else (tuple(recordings), ())


def _find_impossible(bound: BoundTwin, recording: Recording) -> str | None:
    inputs = choose_inputs(bound, recording)
    for i, line in enumerate(describe_commands(bound)):
        source = inputs.sources[line.signal]
        if line.kind != "torque" or source != f"{line.joint}.torque":
            continue
        felt = np.abs(inputs.values[:, i])
        if np.mean(felt > line.upper) > _IMPOSSIBLE_SHARE:
            return (
                f"{recording.name or 'A recording'} was left out of the fit: it is "
                f"driven by measured torque, which reaches {felt.max():.3g} N·m at "
                f"{line.joint} where the drive gives {line.upper:.3g} N·m at most. "
                "Spikes of the drive's report are not torques."
            )
    return None
