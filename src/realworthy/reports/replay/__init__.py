"""A robot and its replay in three dimensions, small enough to stand in a page.

Here live what is seen of a robot as triangles (`shapes.py`, `meshes.py`), where its
bodies are in each frame (`motion.py`), both together with what they show in words
(`replay.py`), and how they are made of recordings (`build.py`).
`templates/replay.js` draws their JSON with WebGL. `build_replay` takes
measured gaps, `build_episode` a single recording. A viewer that simulates as one looks
is `view/`.
"""

from realworthy.reports.replay.build import build_episode, build_replay
from realworthy.reports.replay.replay import Replay

__all__ = ["Replay", "build_episode", "build_replay"]
