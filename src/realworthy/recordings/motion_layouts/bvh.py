"""BVH: a skeleton of joints with offsets, and Euler angles in degrees; y is up.

A joint's channels are turned in the order they are listed, each about the axis as the
ones before have turned it. End sites have no channels. Lengths have no unit.
"""

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realworthy.artefacts import check_bytes, read_bytes, reading, writing
from realworthy.errors import BadFile
from realworthy.parameters.inertia import quaternion
from realworthy.recordings.motion import Motion
from realworthy.recordings.motion_layouts.layout import (
    Y_UP,
    MotionLayout,
    Request,
    turn_up,
)
from realworthy.recordings.poses import Poses

Floats = NDArray[np.float64]
_CHANNELS = tuple(f"{a}{kind}" for kind in ("position", "rotation") for a in "XYZ")
_END = "_end"


@dataclass(frozen=True, slots=True)
class BvhJoint:
    """One joint of a skeleton, or the end of its last bone."""

    name: str
    parent: int
    """Place of the parent; −1 for the root."""
    offset: tuple[float, float, float]
    channels: tuple[str, ...]
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class Bvh:
    """A file as it is: its own lengths and axes, degrees."""

    joints: tuple[BvhJoint, ...]
    """Parents before children."""
    values: Floats
    """(rows, channels) in the order of joints and channels."""
    frame_time: float
    """[s]"""

    def compute_poses(self) -> tuple[Floats, Floats]:
        """(rows, joints, 3) places and (rows, joints, 3, 3) turns in the world."""
        shape = (len(self.values), len(self.joints))
        place, turn = np.zeros((*shape, 3)), np.zeros((*shape, 3, 3))
        at = 0
        for i, joint in enumerate(self.joints):
            values = self.values[:, at : at + len(joint.channels)]
            at += len(joint.channels)
            moved = np.tile(np.array(joint.offset), (shape[0], 1))
            turned = np.tile(np.eye(3), (shape[0], 1, 1))
            for channel, column in zip(joint.channels, values.T, strict=True):
                axis = "XYZ".index(channel[0])
                if channel.endswith("position"):  # replaces the offset of a root
                    moved[:, axis] = column
                else:
                    turned = turned @ _turn_about(axis, np.radians(column))
            if joint.parent < 0:
                place[:, i], turn[:, i] = moved, turned
            else:
                above = turn[:, joint.parent]
                place[:, i] = (
                    place[:, joint.parent] + (above @ moved[..., None])[..., 0]
                )
                turn[:, i] = above @ turned
        return place, turn


def _turn_about(axis: int, angle: Floats) -> Floats:
    """(rows, 3, 3)"""
    found = np.tile(np.eye(3), (len(angle), 1, 1))
    j, k = (axis + 1) % 3, (axis + 2) % 3
    found[:, j, j] = found[:, k, k] = np.cos(angle)
    found[:, k, j] = np.sin(angle)
    found[:, j, k] = -found[:, k, j]
    return found


def read_bvh(path: Path) -> Bvh:
    """The file's skeleton and numbers."""
    data = read_bytes(path)
    if path.name.lower().endswith(".gz"):
        with reading(path, "a whole gzip file"):
            data = gzip.decompress(data)
    check_bytes(path, 16 * len(data))
    with reading(path, "text"):
        text = data.decode("utf-8-sig")
    head, found, tail = text.partition("MOTION")
    if not head.lstrip().startswith("HIERARCHY") or not found:
        raise BadFile(
            path, "it is no BVH file: HIERARCHY and MOTION are its two parts."
        )
    joints = _read_joints(path, head.split()[1:])
    return _read_motion(path, joints, tail)


def _read_joints(path: Path, words: list[str]) -> tuple[BvhJoint, ...]:
    found: list[BvhJoint] = []
    above: list[int] = []
    at = 0

    def fail(what: str) -> BadFile:
        return BadFile(
            path, f"its HIERARCHY {what}, near '{' '.join(words[at : at + 4])}'."
        )

    with reading(path, "a BVH file with a whole HIERARCHY"):
        while at < len(words):
            word = words[at]
            if word in ("ROOT", "JOINT", "End"):
                is_end = word == "End"
                parent = above[-1] if above else -1
                name = found[parent].name + _END if is_end else words[at + 1]
                if words[at + 2 : at + 4] != ["{", "OFFSET"]:
                    raise fail("has a joint without OFFSET")
                x, y, z = (float(value) for value in words[at + 4 : at + 7])
                at += 7
                channels: tuple[str, ...] = ()
                if words[at] == "CHANNELS":
                    count = int(words[at + 1])
                    channels = tuple(words[at + 2 : at + 2 + count])
                    if not set(channels) <= set(_CHANNELS):
                        raise fail(
                            f"has channels that are none of {', '.join(_CHANNELS)}"
                        )
                    at += 2 + count
                above.append(len(found))
                found.append(BvhJoint(name, parent, (x, y, z), channels, is_end))
            elif word == "}" and above:
                above.pop()
                at += 1
            else:
                raise fail("holds a word that does not belong there")
    if above or not found:
        raise BadFile(path, "its HIERARCHY is not closed.")
    names = [joint.name for joint in found if not joint.is_end]
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise BadFile(path, f"two of its joints are called '{twice}'.")
    return tuple(found)


def _read_motion(path: Path, joints: tuple[BvhJoint, ...], text: str) -> Bvh:
    with reading(path, "a BVH file with Frames, Frame Time and numbers"):
        lines = text.strip().split("\n", 2)
        count = int(lines[0].removeprefix("Frames:"))
        frame_time = float(lines[1].strip().removeprefix("Frame Time:"))
        values = np.array(lines[2].split(), dtype=np.float64)
    width = sum(len(joint.channels) for joint in joints)
    if len(values) != count * width or not np.isfinite(values).all():
        raise BadFile(
            path,
            f"it should have {count} rows of {width} numbers, and has {len(values)} "
            "numbers in all.",
            hint="It may be cut off, or its HIERARCHY may be another file's.",
        )
    if not frame_time > 0:
        raise BadFile(path, f"its Frame Time is {frame_time:g} s.")
    return Bvh(joints, values.reshape(count, width), frame_time)


def write_bvh(bvh: Bvh, path: Path | str, *, overwrite: bool = False) -> None:
    """Writes a file, whole or not at all; numbers come back as they were."""
    lines = ["HIERARCHY"]
    depth: list[int] = []
    for i, joint in enumerate(bvh.joints):
        while depth and depth[-1] != joint.parent:
            depth.pop()
            lines.append("  " * len(depth) + "}")
        pad = "  " * len(depth)
        kind = "ROOT" if joint.parent < 0 else "JOINT"
        lines += [f"{pad}{'End Site' if joint.is_end else f'{kind} {joint.name}'}"]
        lines += [f"{pad}{{", f"{pad}  OFFSET {' '.join(map(repr, joint.offset))}"]
        if joint.channels:
            words = " ".join(joint.channels)
            lines.append(f"{pad}  CHANNELS {len(joint.channels)} {words}")
        depth.append(i)
    while depth:
        depth.pop()
        lines.append("  " * len(depth) + "}")
    lines += ["MOTION", f"Frames: {len(bvh.values)}", f"Frame Time: {bvh.frame_time!r}"]
    lines += (" ".join(map(repr, row)) for row in bvh.values.tolist())
    with writing(path, overwrite=overwrite) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _read(path: Path, request: Request) -> Motion:
    bvh = read_bvh(path)
    place, turn = bvh.compute_poses()
    # a figure's own frame stays as it is: only the world's axes change
    bodies = Poses(
        tuple(joint.name for joint in bvh.joints),
        turn_up(place),
        quaternion(Y_UP @ turn),
    )
    clock = np.arange(len(place), dtype=np.float64) * bvh.frame_time
    return Motion(clock, (), np.empty((len(clock), 0)), bodies=bodies)


LAYOUT = MotionLayout(
    summary="skeletons of motion capture (BVH), y up",
    layout="a file .bvh or .bvh.gz with HIERARCHY and MOTION",
    read=_read,
    suffixes=(".bvh", ".bvh.gz"),
)
