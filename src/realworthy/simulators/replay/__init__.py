"""Recordings replayed in a twin: what was sent is sent again, from measured states.

Here live a recording on the clock of a twin's physics (`track`), which of its signals
drive the twin and how encoders read both (`inputs`), how a floating base moved
(`base_motion`), and the worlds that play tracks (`replayer`).

Not here: comparing what was played with what was measured (`gap`), residuals for a fit
(`identification`), pages (`reports.replay`).
"""

from realworthy.simulators.replay.base_motion import BaseMotion
from realworthy.simulators.replay.inputs import Encoders
from realworthy.simulators.replay.replayer import Played, Replayer, is_sound, replay
from realworthy.simulators.replay.track import (
    Track,
    bind_at,
    crop,
    find_overrides,
    find_room,
    is_uneven,
    lay_out,
    lay_out_all,
    lay_out_on,
)

__all__ = [
    "BaseMotion",
    "Encoders",
    "Played",
    "Replayer",
    "Track",
    "bind_at",
    "crop",
    "find_overrides",
    "find_room",
    "is_sound",
    "is_uneven",
    "lay_out",
    "lay_out_all",
    "lay_out_on",
    "replay",
]
