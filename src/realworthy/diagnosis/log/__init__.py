"""The log: faults between a robot and its log that the log alone gives away.

Here lives `inspect`: a recording in, one `Finding` per check out (fault, in order, a
note, or cannot tell), each with numbers and, where there is one, a `Fix`. One file per
kind of contradiction: the clock, repeated rows, units, order, lags, attitude.

Here do not live trials that need physics, such as joint order of a whole robot, encoder
offsets and command kinds. May import what `diagnosis` may.
"""

from realworthy.diagnosis.log.drives import Drive, Limits, read_limits
from realworthy.diagnosis.log.finding import Answer, Finding
from realworthy.diagnosis.log.inspection import inspect, inspect_together

__all__ = [
    "Answer",
    "Drive",
    "Finding",
    "Limits",
    "inspect",
    "inspect_together",
    "read_limits",
]
