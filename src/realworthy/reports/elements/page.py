"""One self-contained page: the look that all reports share, and how it is written."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from realworthy.artefacts import writing
from realworthy.reports.elements.numbers import Tile

if TYPE_CHECKING:
    from jinja2 import Environment

Tone = Literal["good", "attention", "bad", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What stands at the head of every report, before what is its own."""

    command: str
    """That made it, such as `measure`."""
    title: str
    subtitle: str
    warnings: tuple[str, ...]
    tone: Tone
    verdict: str
    """A word or a few."""
    summary: str
    """One sentence."""
    tiles: tuple[Tile, ...]


def write_page(
    template: str, page: Page, view: object, path: Path | str, *, overwrite: bool
) -> None:
    """Fills a template of `templates/` in, and writes it whole or not at all.

    The template extends `page.html` and finds what is its own in `view`.
    """
    with writing(path, overwrite=overwrite) as temporary:
        temporary.write_text(build_page(template, page, view), encoding="utf-8")


def build_page(template: str, page: Page, view: object) -> str:
    """A template of `templates/`, filled in."""
    from plotly.offline import get_plotlyjs

    from realworthy import __version__

    return (
        _load_templates()
        .get_template(template)
        .render(page=page, view=view, version=__version__, plotly=get_plotlyjs())
    )


@cache
def _load_templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("realworthy.reports.elements"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
