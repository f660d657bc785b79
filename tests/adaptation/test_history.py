from itertools import pairwise

import msgspec
import torch

from realworthy.adaptation.conditioned import AdaptProblem
from realworthy.adaptation.history import History
from realworthy.learning.normaliser import Normaliser
from realworthy.tasks.environment.worlds import TaskWorlds


def play(worlds: TaskWorlds, steps: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    seen = [worlds.reset()["policy"]]
    for _ in range(steps):
        action = torch.randn(worlds.world_count, 1, generator=generator)
        seen.append(worlds.step(action).observations["policy"])
    return seen


def test_the_present_within_a_history_is_what_a_policy_without_one_sees(
    problem: AdaptProblem,
):
    plain = problem.build_task()
    plain.terms = plain.terms[:2]  # without the actions that the history adds
    plain.terms = tuple(msgspec.structs.replace(x, history=1) for x in plain.terms)
    worlds = TaskWorlds(plain, 4, randomization=problem.randomization, seed=3)
    with_history = play(problem.build_worlds(4, 3), 12)
    for short, long in zip(play(worlds, 12), with_history, strict=True):
        torch.testing.assert_close(long[:, problem.history.present], short)


def test_every_frame_moves_one_place_back_in_a_step(problem: AdaptProblem):
    frames = problem.history.frames
    assert frames.shape == (10, 3)  # 0.2 s at 50 Hz; height, speed and the action
    seen = play(problem.build_worlds(4, 3), 15)
    for before, now in pairwise(seen):
        torch.testing.assert_close(now[:, frames[:-1]], before[:, frames[1:]])


def test_a_term_that_looks_further_back_keeps_its_instants(problem: AdaptProblem):
    task = problem.build_task()
    first, second, _ = task.terms
    replace = msgspec.structs.replace
    task.terms = replace(first, history=5), replace(second, history=1)
    history = History.of(task, 3)
    assert [term.history for term in history.terms] == [5, 3, 3]
    assert history.present.tolist() == [0, 1, 2, 3, 4, 7]
    assert history.frames.tolist() == [[2, 5, 8], [3, 6, 9], [4, 7, 10]]


def test_all_instants_are_normalised_as_the_present_is(problem: AdaptProblem):
    normaliser = Normaliser(2)
    normaliser.fix(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    spread = problem.history.spread(normaliser)
    frames = problem.history.frames
    assert (spread.mean[frames] == torch.tensor([1.0, 2.0, 0.0])).all()
    torch.testing.assert_close(
        spread.scale[frames], torch.tensor([3.0, 4.0, 1.0]).expand(10, 3)
    )
