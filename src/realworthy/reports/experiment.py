"""The page of `experiment`: one joint's numbers, their intervals, and the curve."""

from dataclasses import dataclass
from pathlib import Path

from realworthy.identification.experiments.quantities import Quantity
from realworthy.reports.certificate_charts import Chart
from realworthy.reports.numbers import Number, Span
from realworthy.reports.page import Page, write_page
from realworthy.reports.tables import Table, Tile


@dataclass(frozen=True, kw_only=True)
class ExperimentView:
    """What the page shows."""

    experiment: str
    joint: str
    robot: str
    quantities: tuple[Quantity, ...]
    warnings: tuple[str, ...]
    parameters: str
    """Lines for a twin file; empty where the twin has none of the numbers."""
    recordings: tuple[str, ...]
    chart: Chart | None

    @property
    def table(self) -> Table:
        return Table(
            caption="What the recording tells",
            columns=("number", "value", "sd", "95 % interval"),
            rows=tuple(
                (
                    one.name,
                    Number(one.value, one.unit, one.sd),
                    Number(one.sd, one.unit),
                    Span(*one.interval, one.unit),
                )
                for one in self.quantities
            ),
        )


def write_experiment(
    view: ExperimentView, path: Path | str, *, overwrite: bool = False
) -> None:
    """Writes the page: one HTML file without links to others, whole or not at all."""
    first = view.quantities[0]
    page = Page(
        command="experiment",
        title=f"{view.experiment.replace('_', ' ')} of {view.joint}",
        subtitle=f"robot {view.robot}",
        warnings=view.warnings,
        tone="attention" if view.warnings else "good",
        verdict=f"{first.name}: {Number(first.value, first.unit, first.sd)}",
        summary=f"With 95 % it lies in {Span(*first.interval, first.unit)}.",
        tiles=tuple(
            Tile(
                label=one.name,
                value=Number(one.value, one.unit, one.sd),
                note=Span(*one.interval, one.unit),
            )
            for one in view.quantities
        ),
    )
    write_page("experiment.html", page, view, path, overwrite=overwrite)
