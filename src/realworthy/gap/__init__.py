"""The gap: how far recordings of a robot are from what its twin does. Needs no fit.

Here live `measure` (a twin and recordings in, one typed answer out) and what it is made
of: noise floors, states, one-step and multi-step errors, missing torques, growth of
errors, trajectory metrics, divergence horizons, and grades of transfer on intervals.

Here do not live causes (`diagnosis`) and fits (`identification`). May import
`simulators` and what `simulators` may; draws nothing.
"""

from realworthy.gap.measure import Gap, RecordingGap, ReplayGap, measure
from realworthy.gap.repeats import RepeatGap, measure_repeats

__all__ = [
    "Gap",
    "RecordingGap",
    "RepeatGap",
    "ReplayGap",
    "measure",
    "measure_repeats",
]
