"""Where a robot's points shall be: a figure's motion in the robot's size.

The robot's feet take the figure's steps: while a foot stands its target does not move,
and between two steps the difference to the scaled motion goes over linearly. Hips
follow the figure's, scaled by the legs. Knees, elbows and wrists lie where the robot's
own bones reach in the direction of the figure's.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from realworthy.retargeting.contacts import (
    find_contacts,
    find_slope,
    list_runs,
    smooth,
)
from realworthy.retargeting.figure import Figure, Points
from realworthy.retargeting.robot_figure import RobotFigure, RobotFoot

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_SHORTER = 0.98
"""Of the legs' length: stretched knees neither bend nor say which way to."""


@dataclass(frozen=True, kw_only=True)
class Targets:
    """What is wanted in each row; rotations turn body frames into the world's."""

    time: Floats
    scale: float
    """Robot's legs over the figure's."""
    centre: Floats
    """(rows, 3) [m] of the middle of the hips."""
    trunk: Floats
    """(rows, 3, 3)"""
    chest: Floats | None
    points: dict[str, Floats]
    """Part → (rows, 3) [m]: knees, elbows, wrists; feet under their ankles."""
    feet: dict[str, Floats]
    """Foot → (rows, 3, 3)"""
    stands: dict[str, Flags]
    """Foot → (rows, ends) which end of it stands."""
    figure: Points
    """The figure itself in the robot's size, on a level floor at height 0."""
    slope: float
    """Of the capture's ground, which was levelled."""


def build_targets(
    time: Floats, points: Points, figure: Figure, robot: RobotFigure
) -> Targets:
    """The whole motion at once."""
    legs = {
        name: _measure_leg(points, foot.hip, foot.knee, foot.ankle)
        for name, foot in figure.feet.items()
    }
    leg = float(np.mean(list(legs.values())))
    points, slope = _level_ground(time, points, figure, leg)
    hips = np.stack([points[h] for pair in figure.hips for h in pair], axis=1)
    middle = hips.mean(axis=1)
    stands, ground = _find_steps(time, points, figure, leg)
    scale = _SHORTER * _measure_robot_leg(robot, figure) / leg
    if not figure.upper:  # a body that lies: as high as the robot stands at home
        scale = robot.height / float(np.median(middle[:, 2]) - ground)
    sole = float(np.mean([foot.height for foot in robot.feet.values()]))
    centre = scale * (middle - [0, 0, ground]) + [0, 0, sole]
    trunk, chest = find_frames(points, figure)
    heading = _flatten(trunk)
    places: dict[str, Floats] = {}
    turns: dict[str, Floats] = {}
    for name in figure.feet:
        shift = _find_shift(robot, points, figure, name, heading, scale, middle)
        place, turn = _plan_foot(
            time,
            points,
            figure,
            name,
            robot.feet[name],
            stands[name],
            scale=scale,
            shift=shift,
            heading=heading,
        )
        places[figure.feet[name].ankle], turns[name] = place, turn
    trunk_of_body = trunk @ robot.trunk_level
    places |= _reach_knees(points, figure, robot, centre, trunk)
    chest_of_body = None
    if chest is not None and robot.body_map.chest:
        chest_of_body = chest @ robot.chest_level
    places |= _reach_arms(points, figure, robot, centre, trunk_of_body, chest)
    return Targets(
        time=time,
        scale=scale,
        centre=centre,
        trunk=trunk_of_body,
        chest=chest_of_body,
        points=places,
        feet=turns,
        stands=stands,
        figure={
            n: scale * (p - [0, 0, ground]) + [0, 0, sole] for n, p in points.items()
        },
        slope=slope,
    )


def _level_ground(
    time: Floats, points: Points, figure: Figure, leg: float
) -> tuple[Points, float]:
    """The figure over a level floor, and the slope that was taken off."""
    parts = [p for f in figure.feet.values() for p in (f.ankle, f.toe) if p in points]
    slope = find_slope(time, [points[part] for part in parts], leg)
    rise = np.array([[0, 0, slope[0]], [0, 0, slope[1]]])
    level = {name: track - track[:, :2] @ rise for name, track in points.items()}
    return level, float(np.hypot(*slope))


def _measure_leg(points: Points, hip: str, knee: str, ankle: str) -> float:
    """[m] of a leg along its bones; without a knee the longest that it gets."""
    if knee in points:
        bones = ((hip, knee), (knee, ankle))
        return sum(float(np.median(_length(points[b] - points[a]))) for a, b in bones)
    return float(np.percentile(_length(points[ankle] - points[hip]), 98))


def _measure_robot_leg(robot: RobotFigure, figure: Figure) -> float:
    legs = [f for f in figure.feet.values() if f.knee in robot.points]
    if not legs:
        return robot.height
    return float(
        np.mean(
            [
                robot.measure(f.hip, f.knee) + robot.measure(f.knee, f.ankle)
                for f in legs
            ]
        )
    )


def _find_steps(
    time: Floats, points: Points, figure: Figure, leg: float
) -> tuple[dict[str, Flags], float]:
    """Which ends of the feet stand, and the height [m] of standing ankles.

    The floor is one and level: a foot that never comes near it never stands.
    """
    parts = {
        n: [p for p in (f.ankle, f.toe) if p in points] for n, f in figure.feet.items()
    }
    found: dict[str, Flags] = {}
    heights = []
    for k in range(max(map(len, parts.values()))):
        tracks = {n: points[each[k]] for n, each in parts.items() if len(each) > k}
        lowest = min(float(np.percentile(t[:, 2], 2.0)) for t in tracks.values())
        for name, track in tracks.items():
            flags, height = find_contacts(time, track, leg, ground=lowest)
            column = flags[:, None]
            found[name] = np.hstack([found[name], column]) if k else column
            if k == 0 and flags.any():
                heights.append(height)
        if k == 0 and not heights:
            heights.append(lowest)
    return found, float(np.median(heights))


def find_frames(points: Points, figure: Figure) -> tuple[Floats, Floats | None]:
    """(rows, 3, 3) of hips and chest: x ahead, y to the left, z up when it stands.

    How far the joints of hips and spine are off one line differs with the skeleton, so
    the median of it is taken off.
    """
    left = np.mean([points[a] - points[b] for a, b in figure.hips], axis=0)
    if len(figure.hips) > 1:
        front, rear = (
            np.mean([points[h] for h in pair], axis=0) for pair in figure.hips
        )
        frame = _orthogonal(x=front - rear, y=left)
        return _level_out(frame), None
    middle = np.mean([points[h] for h in figure.hips[0]], axis=0)
    spine, neck = (points[part] for part in figure.upper)
    whole = _orthogonal(z=neck - middle, y=left)
    trunk = _orthogonal(z=spine - middle, y=left)
    a, b = (points[part] for part in figure.shoulders)
    line = _orthogonal(z=neck - middle, y=a - b)
    chest = _orthogonal(z=neck - spine, y=a - b)
    return _take_bias(trunk, whole), _take_bias(chest, line)


def _take_bias(frame: Floats, reference: Floats) -> Floats:
    """A frame turned about its own y by the median of its pitch from the reference."""
    turn = np.swapaxes(reference, 1, 2) @ frame
    pitch = np.median(np.arctan2(turn[:, 0, 2], turn[:, 2, 2]))
    return frame @ _turn_y(np.array([-pitch]))


def _level_out(frame: Floats) -> Floats:
    """A frame without the median of its pitch: a dog's shoulders are below its hips."""
    pitch = np.median(np.arcsin(np.clip(-frame[:, 2, 0], -1, 1)))
    return frame @ _turn_y(np.array([-pitch]))


def _orthogonal(
    *, y: Floats, x: Floats | None = None, z: Floats | None = None
) -> Floats:
    """Frames whose x or z has the direction given, and whose y is as near as it can."""
    if z is not None:
        up = _unit(z)
        ahead = _unit(np.cross(y, up))
    else:
        assert x is not None
        ahead = _unit(x)
        up = _unit(np.cross(ahead, y))
    return np.stack([ahead, np.cross(up, ahead), up], axis=-1)


def _flatten(frame: Floats) -> Floats:
    """(rows,) heading [rad] of frames, without jumps of 2π."""
    return np.unwrap(np.arctan2(frame[:, 1, 0], frame[:, 0, 0]))


def _find_shift(
    robot: RobotFigure,
    points: Points,
    figure: Figure,
    name: str,
    heading: Floats,
    scale: float,
    middle: Floats,
) -> Floats:
    """(2,) [m] ahead and left by which a robot's foot stands off its scaled place."""
    hip = _turn_z(-heading) @ (points[figure.feet[name].hip] - middle)[..., None]
    shift = robot.stance[name] - scale * np.median(hip[:, :2, 0], axis=0)
    if figure.upper:
        shift[0] = 0.0  # legs of people hang below their hips
    return shift


def _plan_foot(
    time: Floats,
    points: Points,
    figure: Figure,
    name: str,
    foot: RobotFoot,
    stands: Flags,
    *,
    scale: float,
    shift: Floats,
    heading: Floats,
) -> tuple[Floats, Floats]:
    """(rows, 3) of a foot's centre and (rows, 3, 3) of its body."""
    parts = figure.feet[name]
    ankle = points[parts.ankle]
    any_end, flat = np.asarray(stands.any(axis=1)), np.asarray(stands.all(axis=1))
    still = ankle[flat, 2] if flat.any() else np.percentile(ankle[:, 2], [2.0])
    raw = scale * ankle
    raw[:, 2] += foot.height - scale * np.median(still)
    turned = _turn_z(heading) @ np.append(shift, 0.0)
    raw[:, :2] += turned[:, :2]
    yaw, pitch, free = heading, np.zeros(len(time)), _turn_z(heading)
    if parts.toe in points:
        toe = smooth(time, points[parts.toe] - ankle)
        slope = np.arctan2(-toe[:, 2], np.linalg.norm(toe[:, :2], axis=1))
        rest = _find_rest(slope, flat, any_end)
        left = np.stack([-np.sin(heading), np.cos(heading), 0 * heading], axis=1)
        free = _orthogonal(x=toe, y=left) @ _turn_y(np.array([-rest]))
        pitch = slope - rest
        if figure.upper and any_end.any():  # in the air it may point anywhere
            known = np.arctan2(toe[any_end, 1], toe[any_end, 0])
            yaw = np.interp(time, time[any_end], np.unwrap(known))
    place, yaw, pitch = _hold_steps(time, raw, yaw, pitch, stands, foot)
    lifted = np.where(any_end, place[:, 2], np.maximum(place[:, 2], foot.height))
    place[:, 2] = lifted
    held = _turn_z(yaw) @ _turn_y(pitch)
    return place, np.where(any_end[:, None, None], held, free) @ foot.level


def _find_rest(slope: Floats, flat: Flags, stands: Flags) -> float:
    """[rad] from ankle down to toe of a flat foot; a runner's is flat at its least."""
    if flat.any():
        return float(np.median(slope[flat]))
    return float(np.percentile(slope[stands] if stands.any() else slope, 10.0))


def _hold_steps(
    time: Floats,
    raw: Floats,
    yaw: Floats,
    pitch: Floats,
    stands: Flags,
    foot: RobotFoot,
) -> tuple[Floats, Floats, Floats]:
    """Place, heading and pitch of a foot that holds still while it stands.

    A foot on its toe or heel alone turns about it; one that is flat is level.
    """
    any_end, flat = np.asarray(stands.any(axis=1)), np.asarray(stands.all(axis=1))
    wanted = np.column_stack([raw, yaw])
    held = wanted.copy()
    pitch = _roll_off(time, pitch, flat, any_end)
    ends = [foot.level @ (end - foot.centre) for end in foot.ends]
    for start, end in list_runs(any_end):
        rows = np.arange(start, end + 1)
        tilts = np.zeros((len(rows), 3))
        if len(ends) > 1:  # about the end that stands
            on_toe = stands[rows, 1]
            pitch[rows] = np.where(on_toe, np.maximum(pitch[rows], 0), pitch[rows])
            pitch[rows] = np.where(on_toe, pitch[rows], np.minimum(pitch[rows], 0))
            about = np.where(on_toe[:, None], ends[1], ends[0])
            tilts = about - (_turn_y(pitch[rows]) @ about[..., None])[..., 0]
        level = wanted[rows].copy()  # as if it were flat
        level[:, :3] -= (_turn_z(yaw[rows]) @ tilts[..., None])[..., 0]
        still = flat[rows] if flat[rows].any() else np.ones(len(rows), dtype=bool)
        anchor = level[still].mean(axis=0)
        anchor[2] = foot.height
        held[rows] = anchor
        held[rows, :3] += (_turn_z(anchor[3:4])[0] @ tilts[..., None])[..., 0]
    if any_end.any():
        rows = np.flatnonzero(any_end)
        offset = held[rows] - wanted[rows]
        every = np.arange(len(wanted))
        moved = [np.interp(every, rows, column) for column in offset.T]
        held = np.where(any_end[:, None], held, wanted + np.stack(moved, axis=1))
    return held[:, :3], held[:, 3], pitch


_ROLL_SECONDS = 0.08
"""[s] in which a foot that leaves the floor catches up with the figure's: steps are
found a little longer than they are, and at once it would be a jump."""


def _roll_off(time: Floats, pitch: Floats, flat: Flags, any_end: Flags) -> Floats:
    """[rad] of a foot: none while it is flat, growing from there while it rolls."""
    found = np.where(flat, 0.0, pitch)
    for start, end in list_runs(any_end):
        rows = np.arange(start, end + 1)
        level = rows[flat[rows]]
        if len(level):
            nearest = level[np.abs(rows[:, None] - level).argmin(axis=1)]
            fade = np.exp(-np.abs(time[rows] - time[nearest]) / _ROLL_SECONDS)
            found[rows] = np.where(flat[rows], 0.0, pitch[rows] - fade * pitch[nearest])
    return found


def _reach_knees(
    points: Points, figure: Figure, robot: RobotFigure, centre: Floats, trunk: Floats
) -> Points:
    """Where knees are, from the robot's own hips."""
    found: Points = {}
    for foot in figure.feet.values():
        if foot.knee not in robot.points or foot.knee not in points:
            continue
        hip = robot.points[foot.hip]
        carried = (trunk @ robot.trunk_level) @ (hip.local - robot.centre)
        bone = _unit(points[foot.knee] - points[foot.hip])
        length = robot.measure(foot.hip, foot.knee)
        found[foot.knee] = centre + carried + length * bone
    return found


def _reach_arms(
    points: Points,
    figure: Figure,
    robot: RobotFigure,
    centre: Floats,
    trunk_of_body: Floats,
    chest: Floats | None,
) -> Points:
    """Where elbows and wrists are, from the robot's own shoulders."""
    found: Points = {}
    if chest is None:
        return found
    waist = centre + trunk_of_body @ (robot.waist - robot.centre)
    carrier = chest @ robot.chest_level
    if robot.chest == robot.trunk:
        carrier = trunk_of_body
    pivot = _find_pivot(robot)
    for parts in figure.arms.values():
        if any(part not in robot.points for part in parts):
            continue
        at = waist + carrier @ (robot.points[parts[0]].local - pivot)
        for a, b in pairwise(parts):
            at = at + robot.measure(a, b) * _unit(points[b] - points[a])
            found[b] = at
    return found


def _find_pivot(robot: RobotFigure) -> Floats:
    """(3,) [m] of the waist in the chest's frame."""
    if robot.chest == robot.trunk:
        return robot.waist
    joints = robot.model.body_jntnum[robot.chest]
    first = int(robot.model.body_jntadr[robot.chest])
    return robot.model.jnt_pos[first + int(joints) - 1] if joints else np.zeros(3)


def _unit(vectors: Floats) -> Floats:
    return vectors / np.maximum(_length(vectors)[..., None], 1e-9)


def _length(vectors: Floats) -> Floats:
    return np.linalg.norm(vectors, axis=-1)


def _turn_z(angle: Floats) -> Floats:
    """(n, 3, 3)"""
    c, s, one = np.cos(angle), np.sin(angle), np.ones(len(angle))
    zero = 0 * one
    rows = [[c, -s, zero], [s, c, zero], [zero, zero, one]]
    return np.moveaxis(np.array(rows), -1, 0)


def _turn_y(angle: Floats) -> Floats:
    """(n, 3, 3); a positive angle lowers x."""
    c, s, one = np.cos(angle), np.sin(angle), np.ones(len(angle))
    zero = 0 * one
    rows = [[c, zero, s], [zero, one, zero], [-s, zero, c]]
    return np.moveaxis(np.array(rows), -1, 0)
