"""Reports: what was found, as one HTML page that a person can read anywhere.

A page is one file: no network, light and dark, screen, phone and paper. Warnings come
first, then the verdict in one sentence, numbers with their intervals, then plots. Every
plot has its numbers in a table beside it.

Here live one page for each command: `measure/`, `certificate/`, `training/`,
`diagnosis.py`, `calibration.py` and `experiment.py`; `elements/`, what they are made
of; `replay/`, a robot in three dimensions as part of a page; and `view/`, the page that
moves, with e on sliders.

Here does not live any result: a page shows what an object holds and computes nothing
new. May import every room but `tour` and `cli`; plotly and jinja2 when a page is
written.
"""

from realworthy.reports.calibration import write_calibration
from realworthy.reports.diagnosis import write_diagnosis
from realworthy.reports.measure.page import write_gap

__all__ = ["write_calibration", "write_diagnosis", "write_gap"]
