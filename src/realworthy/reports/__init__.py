"""Reports: what was found, as one HTML page that a person can read anywhere.

A page is one file: no network, light and dark, screen, phone and paper. Warnings come
first, then the verdict in one sentence, numbers with their intervals, then plots. Every
plot has its numbers in a table beside it.

`replay/` is a robot and its replay in three dimensions, a part of other pages. `view/`
is the page that lives: a twin that moves, and its unknowns as sliders.

Here live pages (`gap.py`, `diagnosis.py`, `calibration.py`, `training.py`), what they
are made of (`gap_view.py`, `numbers.py`, `tables.py`, `plots.py`, `words.py`) and the
one look of all of them (`page.py`, `templates/`). Here do not live findings: a page
shows what an object holds and works out nothing new. May import every room up to
`deployment`; plotly and jinja2 when a page is written.
"""

from realworthy.reports.calibration import write_calibration
from realworthy.reports.diagnosis import write_diagnosis
from realworthy.reports.gap import write_gap

__all__ = ["write_calibration", "write_diagnosis", "write_gap"]
