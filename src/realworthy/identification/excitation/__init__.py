"""Excitation: motions that tell what nobody knows yet, safely.

Here live Fourier motions within limits, their rehearsal in worlds of the twin, the
information that a recording of them would hold, the search for the most telling one
(`excite`), and the loop fit → design → record → refit (`identify`).

Here does not live what plays a motion on a robot (`deployment.follow`). May import what
`identification` may.
"""

from realworthy.identification.excitation.campaign import (
    Campaign,
    Round,
    Status,
    identify,
)
from realworthy.identification.excitation.design_task import ExcitationSettings
from realworthy.identification.excitation.excite import Excitation, excite
from realworthy.identification.excitation.information import Criterion, Forecast
from realworthy.identification.excitation.record import record, record_motion
from realworthy.identification.excitation.twin_limits import LimitSettings, find_limits

__all__ = [
    "Campaign",
    "Criterion",
    "Excitation",
    "ExcitationSettings",
    "Forecast",
    "LimitSettings",
    "Round",
    "Status",
    "excite",
    "find_limits",
    "identify",
    "record",
    "record_motion",
]
