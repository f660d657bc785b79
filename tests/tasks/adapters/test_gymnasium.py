"""Gymnasium's own checker, spaces, endings within a step, and seeds."""

import sys
import warnings

import numpy as np
import pytest
import torch

from realworthy.errors import MissingExtra, RealworthyError
from realworthy.tasks.classic.pendulum import PendulumSwingUp
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.twins import load_twin

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402
from gymnasium.wrappers.vector import RecordEpisodeStatistics  # noqa: E402

from realworthy.tasks.adapters.gymnasium import (  # noqa: E402
    GymnasiumWorld,
    GymnasiumWorlds,
)


class Brief(PendulumSwingUp):
    """Six steps long."""

    period, seconds = 0.02, 0.12


def build(count: int, *, seed: int = 0, with_belief: bool = False) -> TaskWorlds:
    belief = load_twin("pendulum").belief if with_belief else None
    settings = Randomization(belief=belief, noise=1.0)
    return TaskWorlds(Brief(), count, seed=seed, randomization=settings)


@pytest.mark.parametrize("with_critic", [False, True])
def test_gymnasium_accepts_the_single_environment(with_critic: bool) -> None:
    world = GymnasiumWorld(build(1, with_belief=True), with_critic=with_critic)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Observations and, hence, their spaces have no ends; nothing is drawn.
        for expected in (".*infinity.*", ".*render.*", ".*spec.*"):
            warnings.filterwarnings("ignore", expected)
        check_env(world)


def test_a_single_environment_ends_with_its_own_last_observation() -> None:
    world, many = GymnasiumWorld(build(1)), build(1)
    seen, _ = world.reset(seed=4)
    many.reseed(4)
    assert np.array_equal(seen, many.reset()["policy"][0].numpy())
    for i in range(6):
        seen, reward, terminated, truncated, info = world.step(np.array([0.5]))
        step = many.step(torch.tensor([[0.5]]))
        assert (terminated, truncated) == (False, i == 5)
        assert np.array_equal(seen, step.final["policy"][0].numpy())
        assert reward == float(step.reward[0])
    assert not torch.equal(step.final["policy"], step.observations["policy"])
    assert info["failure"] == 60
    assert info["success"] is False
    assert info["reward.upright"] == pytest.approx(float(step.terms["upright"][0]))


def test_a_batch_of_worlds_has_the_batched_spaces_and_declares_its_resets() -> None:
    worlds = GymnasiumWorlds(build(3))
    assert worlds.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert worlds.observation_space.shape == (3, 6)
    assert worlds.single_action_space == gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    seen, infos = worlds.reset(seed=1)
    assert seen in worlds.observation_space
    assert infos == {}
    seen, reward, terminated, truncated, _ = worlds.step(worlds.action_space.sample())
    assert seen in worlds.observation_space
    assert reward.shape == terminated.shape == truncated.shape == (3,)
    assert terminated.dtype == truncated.dtype == np.bool_


def test_the_last_observation_stands_beside_the_first_of_the_next_episode() -> None:
    worlds, plain = GymnasiumWorlds(build(3), with_critic=True), build(3)
    worlds.reset(seed=1)
    plain.reseed(1)
    plain.reset()
    for i in range(6):
        action = np.full((3, 1), 0.1 * i, np.float32)
        seen, _, _, truncated, infos = worlds.step(action)
        step = plain.step(torch.from_numpy(action))
        assert ("final_obs" in infos) == (i == 5)
    assert truncated.all()
    assert infos["_final_obs"].all()
    for group in plain.groups:
        last = np.stack([final[group] for final in infos["final_obs"]])
        assert np.array_equal(last, step.final[group].numpy())
        assert np.array_equal(seen[group], step.observations[group].numpy())
    assert infos["final_info"]["failure"].tolist() == [60] * 3
    assert infos["final_info"]["_failure"].all()


def test_a_seed_repeats_everything_and_another_one_does_not() -> None:
    worlds = GymnasiumWorlds(build(4, with_belief=True))

    def run(seed: int | None) -> list[np.ndarray]:
        seen = [worlds.reset(seed=seed)[0]]
        seen += [worlds.step(np.zeros((4, 1), np.float32))[0] for _ in range(9)]
        return seen

    first, again, other, onwards = run(7), run(7), run(8), run(None)
    assert all(map(np.array_equal, first, again))
    assert not np.array_equal(first[0], other[0])
    assert not np.array_equal(other[0], onwards[0])


def test_wrappers_of_gymnasium_count_episodes() -> None:
    worlds = RecordEpisodeStatistics(GymnasiumWorlds(build(2)))
    worlds.reset(seed=0)
    lengths = []
    for _ in range(14):
        *_, infos = worlds.step(np.zeros((2, 1), np.float32))
        if "episode" in infos:
            lengths += infos["episode"]["l"][infos["_episode"]].tolist()
    assert lengths == [6, 6, 6, 6]


def test_several_worlds_are_no_single_environment() -> None:
    with pytest.raises(RealworthyError, match="one world, not 2"):
        GymnasiumWorld(build(2))


def test_a_mask_of_resets_is_refused() -> None:
    with pytest.raises(RealworthyError, match="reset_mask"):
        GymnasiumWorlds(build(2)).reset(options={"reset_mask": np.array([True, False])})


def test_a_missing_library_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "realworthy.tasks.adapters.gymnasium"
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingExtra, match=r"realworthy\[gymnasium\]"):
        __import__(name)
