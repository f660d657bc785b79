"""The live view: a twin on a local web page, with its unknowns as sliders.

`show.py` serves the page and keeps time; `session.py` is what happens behind it and
needs no browser. A `Play` is one thing to watch: a policy or held commands
(`policy_play.py`), a task that judges what it sees (`task_play.py`), a recording beside
its replay (`replay_play.py`). `slider_ranges.py` chooses which parameters get a slider,
and its ends; `stage.py`, `panel.py`, `sliders.py` and `plots.py` draw. viser and
mjviser are imported here and nowhere else.
"""

from realworthy.reports.view.session import Session, build_session
from realworthy.reports.view.show import DEFAULT_PORT, Viewer, view

__all__ = ["DEFAULT_PORT", "Session", "Viewer", "build_session", "view"]
