"""The page of `train`: how well a policy does, in worlds that differ by how much."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from realworthy.reports.certificate.charts import Chart
from realworthy.reports.elements.numbers import (
    Amount,
    Cell,
    Count,
    PageTable,
    Span,
    SuccessShare,
    Tile,
)
from realworthy.reports.elements.page import Page, write_page
from realworthy.reports.elements.wording import describe_failure
from realworthy.reports.training.progress import (
    Part,
    choose_tone,
    draw_looks,
    list_chances,
    say_end,
    say_success,
    say_verdict,
)

if TYPE_CHECKING:
    from realworthy.learning.training import Training
    from realworthy.tasks.environment.evaluate import Evaluation
    from realworthy.tasks.environment.variety import Range

_NARROW = 0.02
"""Share of the twin's value that a range is wide at most to be told by differences."""
_SDS = 3.29
"""Standard deviations between 5 % and 95 % of a Gaussian."""


def write_training(
    training: "Training", path: Path | str, *, overwrite: bool = False
) -> None:
    """Writes the page of a training: success, how it came about, how worlds differ.

    One HTML file without links to others, written whole or not at all.
    """
    view = TrainingView(training)
    page = Page(
        command="train",
        title=training.task,
        subtitle=f"learned on twin {training.twin}, in {training.folder.path}",
        warnings=training.warnings,
        tone=choose_tone(training.evaluation),
        verdict=say_verdict(training.evaluation),
        summary=say_success(training.evaluation),
        tiles=view.tiles,
    )
    write_page("training.html", page, view, path, overwrite=overwrite)


@dataclass(frozen=True)
class TrainingView:
    """Tables and plots of a training."""

    training: "Training"

    @cached_property
    def tiles(self) -> tuple[Tile, ...]:
        training = self.training
        judged, nominal = training.evaluation, training.at_nominal
        return (
            Tile(
                label="success",
                value=_to_share(judged),
                note=Span(*judged.success_interval, "%"),
            ),
            Tile(
                label="on the nominal model",
                value=_to_share(nominal),
                note=Span(*nominal.success_interval, "%"),
            ),
            Tile(
                label="steps",
                value=Count(training.step_count),
                note=f"in {training.update_count:,} updates",
            ),
            Tile(
                label="time",
                value=Amount(training.seconds, "s"),
                note=say_end(training),
            ),
            Tile(
                label="steps per second",
                value=Amount(training.steps_per_second),
                note="without evaluations",
            ),
        )

    @cached_property
    def chart(self) -> Chart | None:
        return draw_looks(self.training.looks)

    @cached_property
    def looks(self) -> PageTable:
        return PageTable(
            caption="Every evaluation during training",
            columns=("steps", "after", "success", "return", "reward per step"),
            rows=tuple(
                (
                    Count(look.step_count),
                    Amount(look.seconds, "s"),
                    SuccessShare(look.success),
                    Amount(look.mean_return),
                    Amount(look.reward),
                )
                for look in self.training.looks
            ),
        )

    @property
    def invalid_steps(self) -> Count:
        return Count(self.training.invalid_count)

    @property
    def has_diverged(self) -> bool:
        training = self.training
        return bool(
            training.evaluation.invalid_count or training.at_nominal.invalid_count
        )

    @cached_property
    def costs(self) -> PageTable:
        judged, nominal = self.training.evaluation, self.training.at_nominal
        success = returned = None
        if judged.episode_count and nominal.episode_count:
            success = 100 * (judged.success - nominal.success)
            returned = judged.mean_return - nominal.mean_return
        return PageTable(
            caption="The same policy in unseen worlds; intervals are 95 %",
            columns=(
                "worlds",
                "success",
                "success between",
                "return",
                "return between",
                "episodes",
                "physics diverged",
            ),
            rows=(
                _make_row("as randomized", judged),
                _make_row("nominal model", nominal),
                (
                    "difference",
                    Amount(success, "points"),
                    Amount(None),
                    Amount(returned),
                    *(Amount(None),) * 3,
                ),
            ),
        )

    @cached_property
    def failures(self) -> PageTable:
        judged, nominal = self.training.evaluation, self.training.at_nominal
        codes = sorted({*judged.failures, *nominal.failures})
        return PageTable(
            caption="Failed episodes by how they ended",
            columns=("code", "what happened", "as randomized", "nominal model"),
            rows=tuple(
                (
                    code.name.lower(),
                    describe_failure(code.name.lower()),
                    Count(judged.failures.get(code, 0)),
                    Count(nominal.failures.get(code, 0)),
                )
                for code in codes
            ),
        )

    @cached_property
    def chances(self) -> tuple[tuple[str, tuple[Part, ...]], ...]:
        return tuple(list_chances(self.training.variety))

    @cached_property
    def ranges(self) -> PageTable:
        rows = []
        for one in self.training.variety.ranges:
            sd = (one.upper - one.lower) / _SDS
            rows.append(
                (
                    one.name,
                    one.unit or "1",
                    *(
                        Amount(value, sd=sd)
                        for value in (one.nominal, one.lower, one.middle, one.upper)
                    ),
                    compare(one),
                )
            )
        return PageTable(
            caption="What differs between worlds",
            columns=(
                "number",
                "unit",
                "twin",
                "5 %",
                "median",
                "95 %",
                "relative to nominal",
            ),
            rows=tuple(rows),
        )

    @cached_property
    def files(self) -> PageTable:
        folder = self.training.folder
        return PageTable(
            caption=str(folder.path),
            columns=("file", "holds"),
            rows=(
                (folder.policy.name, "the best policy, with its contract"),
                (folder.report.name, "this page"),
                (folder.settings.name, "what was asked for, resolved, with versions"),
                ("checkpoints/", "the best and the latest weights, for --resume"),
                (f"{folder.metrics.name}/", "every update, for TensorBoard"),
            ),
        )

    @cached_property
    def commands(self) -> tuple[tuple[str, str], ...]:
        """What to do with the policy, in words and as a line for the shell."""
        return tuple(self._list_commands())

    def _list_commands(self) -> Iterator[tuple[str, str]]:
        training = self.training
        policy = shlex.quote(str(training.folder.policy))
        yield "Certify it:", f"realworthy certify {policy}"
        if training.twin:
            twin = shlex.quote(training.twin)
            yield "Watch it:", f"realworthy view {twin} --policy {policy}"


def compare(one: "Range") -> Amount | Span:
    """A range beside the twin's value: multiples of it, or differences.

    Differences where multiples would all round to 1 or change their sign; a dash where
    the twin says zero, as the range itself is the difference then.
    """
    if one.nominal == 0:
        return Amount(None)
    low, high = sorted((one.lower / one.nominal, one.upper / one.nominal))
    if low > 0 and high - low > _NARROW:
        return Span(low, high, "×")
    return Span(one.lower - one.nominal, one.upper - one.nominal, one.unit)


def _make_row(worlds: str, judged: "Evaluation") -> tuple[Cell, ...]:
    return (
        worlds,
        _to_share(judged),
        Span(*judged.success_interval, "%"),
        Amount(judged.mean_return if judged.episode_count else None),
        Span(*judged.return_interval),
        Count(judged.episode_count),
        Count(judged.invalid_count),
    )


def _to_share(judged: "Evaluation") -> SuccessShare | Amount:
    """A dash where no episode counts."""
    return SuccessShare(judged.success) if judged.episode_count else Amount(None)
