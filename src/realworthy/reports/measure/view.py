"""Tables and plots of a gap, alone or beside the gap that fixes leave."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Literal

import numpy as np

from realworthy.gap import Gap, RecordingGap, RepeatGap, measure_repeats
from realworthy.gap.intervals import compute_mean_bootstrap
from realworthy.gap.measure import is_finger
from realworthy.reports.elements.numbers import (
    Amount,
    PageTable,
    Span,
    Tile,
    find_units,
    join_units,
    to_torque_unit,
)
from realworthy.reports.elements.plots import (
    LABELS,
    LineRole,
    Plot,
    draw_horizons,
    draw_joints,
)
from realworthy.reports.elements.wording import (
    describe_effects,
    describe_horizons,
    gather_remarks,
)
from realworthy.reports.measure.overlay import draw_overlay, find_stretches
from realworthy.reports.replay import Replay, build_replay

_OVERLAY_COUNT, _ROW_COUNT = 4, 96
"""Recordings drawn at most, and their joints in all: a page must stay small."""
_PAGE_POINT_COUNT, _MIN_LINE_POINTS, _MAX_LINE_POINTS = 60_000, 120, 700
"""Points of a page in all, at least and at most of one line: pages stay below 5 MB."""
_MIN_RECORDINGS_FOR_INTERVAL = 5
"""Recordings from which their mean is given an interval; from four, t at 95 % is 3.2
and the interval says little."""


@dataclass(frozen=True)
class GapView:
    """Tables and plots of a gap, beside those of the gap that fixes leave."""

    gap: Gap
    after: Gap | None = None
    labels: Mapping[LineRole, str] = field(default_factory=lambda: LABELS)
    """What the two twins are called."""

    @property
    def after_column(self) -> str:
        """Head of the columns of the second gap."""
        if self.labels is LABELS:
            return "causes corrected"
        return self.labels[LineRole.CORRECTED]

    @cached_property
    def unit(self) -> str:
        """Of figures over all joints."""
        return join_units(find_units(self.gap).values())

    @cached_property
    def tiles(self) -> tuple[Tile, ...]:
        step, last = self.gap.one_step, max(self.gap.horizons, default=None)
        tiles = [
            Tile(
                label="replay error",
                value=Amount(self.gap.replay.position_rmse, self.unit),
                note=_describe_spread(self.gap, self.unit),
            ),
            Tile(
                label="sensor noise",
                value=Amount(compute_noise(self.gap), self.unit),
                note="root mean square over joints",
            ),
            Tile(
                label="normalised one-step error",
                value=Amount(step.error),
                note=f"1: predicting no change; {Amount(step.floor)} from noise alone",
            ),
        ]
        if last is not None:
            floor = Amount(self.gap.horizon_floor[last], self.unit)
            tiles.append(
                Tile(
                    label=f"{last:g} s ahead",
                    value=Amount(self.gap.horizons[last], self.unit),
                    note=f"from measured states; {floor} from noise alone",
                )
            )
        return tuple(tiles)

    @cached_property
    def shown(self) -> tuple[RecordingGap, ...]:
        """Recordings that are drawn, the worst first."""
        widest = max(len(one.track.joints) for one in self.gap.recordings)
        count = min(_OVERLAY_COUNT, max(1, _ROW_COUNT // widest))
        return tuple(sorted(self.gap.recordings, key=_rank))[:count]

    @cached_property
    def overlays(self) -> tuple[tuple[RecordingGap, tuple[Plot, ...]], ...]:
        """Each recording that is drawn: its whole, or a stretch and its whole."""
        afters = _pair(self.gap, self.after)
        drawn = [(one, afters.get(id(one)), find_stretches(one)) for one in self.shown]
        kinds = 2 if self.after is None else 4
        lines = sum(kinds * len(one.track.joints) * len(s) for one, _, s in drawn)
        count = int(
            np.clip(_PAGE_POINT_COUNT // lines, _MIN_LINE_POINTS, _MAX_LINE_POINTS)
        )
        draw = partial(draw_overlay, labels=self.labels)
        return tuple(
            (one, tuple(draw(one, s, after, point_count=count) for s in parts))
            for one, after, parts in drawn
        )

    @cached_property
    def replay(self) -> Replay | None:
        """The worst recording in three dimensions; None where there is no shape."""
        worst = self.shown[0]
        after = _pair(self.gap, self.after).get(id(worst))
        return build_replay(worst, after, self.labels)

    @cached_property
    def horizons(self) -> Plot:
        return draw_horizons(self.gap, self.after, self.labels)

    @cached_property
    def joints(self) -> Plot:
        return draw_joints(self.gap, self.after, self.labels)

    @cached_property
    def horizon_table(self) -> PageTable:
        after = {} if self.after is None else self.after.horizons
        columns = ["seconds ahead", self.labels[LineRole.TWIN], "noise floor"]
        columns += [self.after_column] if after else []
        rows = []
        for seconds, error in self.gap.horizons.items():
            values = [error, self.gap.horizon_floor[seconds]]
            values += [after.get(seconds)] if after else []
            cells = (Amount(value, self.unit) for value in values)
            rows.append((Amount(seconds, "s"), *cells))
        return PageTable(
            caption="Error of predictions from measured states, root mean square",
            columns=tuple(columns),
            rows=tuple(rows),
        )

    @cached_property
    def joint_table(self) -> PageTable:
        gap, units = self.gap, find_units(self.gap)
        after = {} if self.after is None else self.after.replay.per_joint
        columns = ["joint", "error", "noise", "torque residual", "noise floor"]
        columns += [f"error, {self.after_column}"] if after else []
        rows = []
        for joint, error in gap.replay.per_joint.items():
            unit, torque = units[joint], to_torque_unit(units[joint])
            cells = [
                Amount(error, unit),
                Amount(gap.noise_floor[joint], unit),
                Amount(compute_mean_force(gap, joint, "rms"), torque),
                Amount(compute_mean_force(gap, joint, "floor"), torque),
            ]
            cells += [Amount(after.get(joint), unit)] if after else []
            rows.append((joint, *cells))
        differs = [describe_effects(gap.recordings, joint) for joint, *_ in rows]
        if any(differs):
            columns.append("differs by")
            rows = [(*row, words) for row, words in zip(rows, differs, strict=True)]
        return PageTable(
            caption="Replay by joint; means over recordings",
            columns=tuple(columns),
            rows=tuple(rows),
        )

    @cached_property
    def recording_table(self) -> PageTable:
        afters = _pair(self.gap, self.after)
        columns = ["recording", "error", "length", "rate", "rows"]
        columns += [f"error, {self.after_column}"] if self.after else []
        rows = []
        for one in self.gap.recordings:
            recording, unit = one.track.recording, join_units(find_units(one).values())
            cells = [
                Amount(one.replay.position_rmse, unit),
                Amount(recording.duration, "s"),
                Amount(recording.rate, "Hz"),
                Amount(len(one.track.rows)),
            ]
            if self.after:
                corrected = afters.get(id(one))
                rest = None if corrected is None else corrected.replay.position_rmse
                cells.append(Amount(rest, unit))
            rows.append((one.name, *cells))
        return PageTable(
            caption="Replay by recording",
            columns=tuple(columns),
            rows=tuple(rows),
        )

    @cached_property
    def repeats(self) -> tuple[RepeatGap, ...]:
        """Of the twin as it is."""
        return measure_repeats(self.gap.recordings)

    @cached_property
    def repeat_table(self) -> PageTable:
        return PageTable(
            caption="Root mean square errors over the same rows",
            columns=(
                "repeat_group",
                "recordings",
                "repeatability",
                "twin",
                "ratio",
            ),
            rows=tuple(
                (
                    one.group,
                    Amount(one.count),
                    Amount(one.robot_error, self.unit),
                    Amount(one.twin_error, self.unit),
                    Amount(one.error_ratio, "×"),
                )
                for one in self.repeats
            ),
        )

    @cached_property
    def repeat_remarks(self) -> list[str]:
        return [f"{one.group}: {describe_horizons(one)}" for one in self.repeats]

    @cached_property
    def remarks(self) -> list[str]:
        """How errors grow, and what was assumed."""
        return gather_remarks(self.gap.recordings)


def compute_noise(gap: Gap) -> float:
    """Root mean square of the noise of positions over joints, fingers apart."""
    noise = gap.noise_floor
    body = [sd for joint, sd in noise.items() if not is_finger(joint)]
    return math.sqrt(np.mean(np.square(body or list(noise.values()))))


def _describe_spread(gap: Gap, unit: str) -> str:
    """An interval of the mean over recordings, or where they lie, or their count."""
    errors = [one.replay.position_rmse for one in gap.recordings]
    if len(errors) == 1:
        return "root mean square, 1 recording"
    if not np.isfinite(errors).all():
        return f"{np.isfinite(errors).sum()} of {len(errors)} recordings are finite"
    if len(errors) < _MIN_RECORDINGS_FOR_INTERVAL:
        return f"{Span(min(errors), max(errors), unit)} in {len(errors)} recordings"
    between = compute_mean_bootstrap(errors)
    return f"{Span(*between, unit)} (95 %, mean of {len(errors)} recordings)"


def _rank(one: RecordingGap) -> float:
    error = one.replay.position_rmse
    return -error if math.isfinite(error) else -math.inf


def _pair(gap: Gap, after: Gap | None) -> dict[int, RecordingGap]:
    """Identity of a recording's gap → the one of the same recording after fixes.

    By place where there are as many of them, else by name.
    """
    if after is None:
        return {}
    if [one.name for one in gap.recordings] == [one.name for one in after.recordings]:
        pairs = zip(gap.recordings, after.recordings, strict=True)
        return {id(one): other for one, other in pairs}
    by_name = {one.name: one for one in after.recordings}
    return {id(o): by_name[o.name] for o in gap.recordings if o.name in by_name}


def compute_mean_force(
    gap: Gap, joint: str, name: Literal["rms", "floor"]
) -> float | None:
    """Torque residual of a joint [N·m or N], mean over recordings that have one."""
    values = [getattr(one.forces, name).get(joint) for one in gap.recordings]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
