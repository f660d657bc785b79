"""What brakes a joint twice: its own damping, and its drive's `kd`.

Only the sum counts unless the drive reaches its torque limit. Where recordings do not
tell them apart, the damping stays as published and the drive has the rest.
"""

from collections.abc import Mapping, Sequence

from realworthy.twins import Twin, bind
from realworthy.twins.commands import describe_commands

_LEFT = 0.1
"""What is left to a drive beside a published damping at least, as a share of it."""


def pair_brakes(twin: Twin, joints: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """`kd` and `damping` of each of `joints` that has both, and more than none."""
    drives = {
        line.joint: line.signal.partition(".command")[0]
        for line in describe_commands(bind(twin))
        if line.joint in joints
    }
    pairs = [(f"{drive}.kd", f"{joint}.damping") for joint, drive in drives.items()]
    space = twin.space
    return tuple(
        pair for pair in pairs if all(n in space and space[n].nominal > 0 for n in pair)
    )


def restore_brakes(
    twin: Twin, pairs: Sequence[tuple[str, str]], values: Mapping[str, float]
) -> dict[str, float]:
    """Values with dampings as `twin` has them, and what else brakes in `kd`.

    Where all that brakes is less than that, both stay as they were.
    """
    restored = dict(values)
    for drive, joint in pairs:
        if drive in values and joint in values:
            published = twin.space[joint].nominal
            rest = values[drive] + values[joint] - published
            if rest > _LEFT * published:
                restored |= {drive: rest, joint: published}
    return restored
