"""Play between shaft and link.

In a twin, backlash is structure: two coincident hinges, the motor (with its armature)
on the first, the second free to turn by the width. This file holds the law for a bench
without an engine, where the link rests in its own friction until the shaft takes it
along.
"""

import array_api_compat as api

from realworthy.actuators.arrays import Array, clamp


def follow_play(shaft: Array, link: Array, width: Array | float) -> Array:
    """Where the link is once the shaft has moved to `shaft` [rad].

    `link` is where it was; it moves only when pushed by an edge of the gap of `width`
    [rad]. Valid while the link's own friction outweighs its inertia and load.
    """
    half = 0.5 * width + 0.0 * shaft
    return clamp(link, shaft - half, shaft + half)


def measure_play(shaft: Array, link: Array) -> float:
    """Width [rad] of a recorded hysteresis loop: how far apart shaft and link come."""
    xp = api.array_namespace(shaft)
    apart = shaft - link
    return float(xp.max(apart) - xp.min(apart))
