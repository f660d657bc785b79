"""Ground and loads that a run adds to a task's worlds, and nothing else."""

from pathlib import Path

import numpy as np
import pytest
import torch

from realworthy.errors import RealworthyError
from realworthy.learning.presets import Randomize, choose_randomization
from realworthy.learning.runs import RunFolder
from realworthy.learning.surroundings import add_payload, put_on_terrain
from realworthy.learning.train import train
from realworthy.learning.training import TrainSettings, choose_settings
from realworthy.tasks.catalogue import build_task
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.legged.quadruped import QuadrupedVelocity
from realworthy.tasks.randomization.randomization import Randomization


def play(task: str, how: Randomization, steps: int) -> np.ndarray:
    """(steps, worlds, d) e of some worlds that do nothing."""
    worlds = TaskWorlds(build_task(task), 4, randomization=how, seed=3)
    rest = torch.zeros(4, worlds.action_width)
    seen = []
    for _ in range(steps):
        worlds.step(rest)
        seen.append(worlds.e)
    return np.array(seen)


@pytest.mark.parametrize("randomize", [Randomize.PRESET, Randomize.NONE])
def test_a_load_comes_and_goes_and_all_else_is_as_it_was(randomize: Randomize):
    task = build_task("pendulum")
    plain = choose_randomization("pendulum", task.twin, randomize)
    loaded = add_payload(plain, task.twin, {"pendulum": 0.3})
    assert loaded.belief is not None
    names = loaded.belief.space.names
    column = names.index("pendulum.mass")
    e = play("pendulum", loaded, 200)
    base = e[0, :, column]
    extra = e[:, :, column] - base
    assert extra.min() == 0.0
    assert 0.05 < extra.max() <= 0.3
    changes = (np.diff(extra, axis=0) != 0).sum()
    assert changes >= 2  # within one episode
    others = [names.index(name) for name in names if name != "pendulum.mass"]
    assert (e[:, :, others] == e[0][None, :, others]).all()
    if plain.belief is not None:
        before = play("pendulum", plain, 1)[0]
        order = [names.index(name) for name in plain.belief.space.names]
        assert before == pytest.approx(e[0][:, order], abs=0)


def test_terrain_is_under_a_quadruped_and_no_other_task():
    flat = build_task("quadruped")
    uneven = put_on_terrain(flat, None, 0.5)
    assert isinstance(uneven, QuadrupedVelocity)
    assert uneven.terrain is not None
    assert uneven.terrain.settings.step == pytest.approx(0.06)
    assert uneven.terms == flat.terms
    assert uneven.action == flat.action
    with pytest.raises(RealworthyError, match="no ground that could be uneven"):
        put_on_terrain(build_task("pendulum"), None, 1.0)
    with pytest.raises(RealworthyError, match="cannot be built"):
        put_on_terrain(flat, None, 9.0)


def test_what_cannot_carry_is_refused_and_nothing_is_written(tmp_path: Path):
    few = {"steps": 1000, "world_count": 4}
    for payload, match in (
        ({"trunk": 1.0}, "no body with a mass 'trunk'"),
        ({"pendulum": -1.0}, "is none"),
    ):
        settings = choose_settings("pendulum", payload=payload, **few)
        with pytest.raises(RealworthyError, match=match):
            train(settings, output=tmp_path / "run")
    settings = choose_settings("pendulum", terrain=1.0, **few)
    with pytest.raises(RealworthyError, match="no ground"):
        train(settings, output=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_keeps_what_was_added(tmp_path: Path):
    done = train(
        "pendulum",
        output=tmp_path / "run",
        payload={"pendulum": 0.2},
        steps=2000,
        world_count=16,
        evaluation_episodes=8,
    )
    kept: TrainSettings = RunFolder(tmp_path / "run").read_settings(TrainSettings)
    assert kept.payload == {"pendulum": 0.2}
    assert kept.terrain == 0.0
    assert done.variety.moving == ("pendulum.mass",)
