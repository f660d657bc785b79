"""What comes out of a replay: windows that stay within their episode."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from realworthy.learning import replay as replays
from realworthy.learning.fast_sac import FastSac, FastSacSettings
from realworthy.learning.learner import BadSettings
from realworthy.learning.replay import ReplayBuffer, count_bytes, describe_memory
from realworthy.tasks.environment.environment import Step
from tests.learning.toys import CPU, Noise, describe_groups

GROUPS = describe_groups({"actor": 3, "critic": 1})


def build(slots: int, worlds: int) -> ReplayBuffer:
    return ReplayBuffer(slots, worlds, groups=GROUPS, action_width=1, device=CPU)


def record(
    replay: ReplayBuffer, terminated: Tensor, truncated: Tensor, invalid: Tensor
) -> None:
    """Plays (steps, worlds) endings; observations tell world, episode and time.

    The first step of an episode sees time 0 and is followed by time 1, also where the
    episode ends; the step after an end sees the next episode's time 0. The reward is
    100 · episode + time + 1, which no two steps of a world share.
    """
    step_count, worlds = terminated.shape
    episode, time = torch.zeros(worlds), torch.zeros(worlds)

    def look(episode: Tensor, time: Tensor) -> dict[str, Tensor]:
        seen = torch.stack([torch.arange(worlds), episode, time], dim=1)
        return {"actor": seen.float(), "critic": time[:, None].clone()}

    for t in range(step_count):
        before, after = look(episode, time), look(episode, time + 1)
        nan = torch.full_like(after["critic"], torch.nan)
        broken = invalid[t][:, None]
        final = {**after, "critic": torch.where(broken, nan, after["critic"])}
        reward = torch.where(invalid[t], torch.nan, 100 * episode + time + 1)
        step = Step(
            observations=after,
            reward=reward,
            terminated=terminated[t] | invalid[t],
            truncated=truncated[t] & ~terminated[t] & ~invalid[t],
            final=final,
            terms={},
            failure=torch.zeros(worlds),
            success=torch.zeros(worlds, dtype=torch.bool),
            invalid=invalid[t],
        )
        replay.put(before, time[:, None].clone(), step)
        done = step.done
        episode = torch.where(done, episode + 1, episode)
        time = torch.where(done, 0.0, time + 1)


def walk(
    endings: list[tuple[bool, bool, bool]], start: int, n: int
) -> tuple[float, float, int]:
    """Reward, discount and steps of a window of one world, worked out step by step."""
    episode = sum(any(x) for x in endings[:start])
    back = 0
    while start - back > 0 and not any(endings[start - back - 1]):
        back += 1
    total, k = 0.0, 0
    while True:
        total += 0.5**k * (100 * episode + back + k + 1)
        k += 1
        terminated, truncated, _ = endings[start + k - 1]
        if terminated:
            return total, 0.0, k
        is_last = truncated or k == n or start + k >= len(endings)
        if is_last or endings[start + k][2]:
            return total, 0.5**k, k


DONE = st.lists(
    st.tuples(*[st.sampled_from([False, False, False, True])] * 3),
    min_size=1,
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(patterns=st.lists(DONE, min_size=1, max_size=3), n=st.integers(1, 5),
       slots=st.integers(1, 12))  # fmt: skip
def test_windows_never_cross_the_end_of_an_episode_nor_the_ring(
    patterns: list[list[tuple[bool, bool, bool]]], n: int, slots: int
):
    """Against a walk along each world's own steps, wherever the ring begins."""
    length = min(map(len, patterns))
    patterns = [pattern[:length] for pattern in patterns]
    marks = torch.tensor(patterns).permute(2, 1, 0)  # (3, steps, worlds)
    replay = build(slots, len(patterns))
    # A step cannot be more than one of these; what diverged counts for most.
    terminated = marks[0] & ~marks[2]
    record(replay, terminated, marks[1], marks[2])
    held = min(length, slots)
    age, world = torch.meshgrid(
        torch.arange(held), torch.arange(len(patterns)), indexing="ij"
    )
    age, world = age.flatten(), world.flatten()
    found = replay.take(age, world, step_count=n, discount=0.5)
    oldest = length - held
    for i in range(len(age)):
        start, mine = oldest + int(age[i]), patterns[int(world[i])]
        if mine[start][2]:
            assert found.weight[i] == 0
            continue
        endings = [(a and not c, b and not a and not c, c) for a, b, c in mine]
        reward, discount, k = walk(endings, start, n)
        assert found.weight[i] == 1
        assert found.reward[i].item() == pytest.approx(reward, rel=1e-6)
        assert found.discount[i].item() == pytest.approx(discount)
        seen, after = found.seen["actor"][i], found.following["actor"][i]
        assert seen[0] == after[0] == world[i]
        assert seen[1] == after[1]  # the same episode
        assert after[2] == seen[2] + k
        assert found.following["critic"][i] == after[2]


def test_steps_before_an_interruption_are_not_continued():
    """Somebody else played in between: the last step is like one cut by time."""
    replay, none = build(8, 1), torch.zeros(2, 1, dtype=torch.bool)
    record(replay, none, none, none)
    replay.cut()
    record(replay, none, none, none)
    ages = torch.arange(4)
    found = replay.take(ages, 0 * ages, step_count=3, discount=0.5)
    assert found.discount.tolist() == [0.25, 0.5, 0.25, 0.5]


def test_what_is_drawn_comes_from_everywhere():
    replay, none = build(5, 3), torch.zeros(7, 3, dtype=torch.bool)
    record(replay, none, none, none)
    generator = torch.Generator().manual_seed(0)
    drawn = replay.draw(400, step_count=1, discount=0.9, generator=generator)
    found = {tuple(x) for x in drawn.seen["actor"].tolist()}
    assert found == {(w, 0, t) for w in range(3) for t in range(2, 7)}


def test_memory_is_counted_as_it_is_taken():
    count = count_bytes(7, 5, groups=GROUPS, action_width=1)
    replay = build(7, 5)
    tensors = replay._list().values()
    assert sum(x.numel() * x.element_size() for x in tensors) == count
    assert " of " in describe_memory(count, CPU)


def test_a_replay_larger_than_memory_is_refused_before_anything_is_taken():
    """A hundred worlds for ten thousand million steps."""
    s = FastSacSettings()
    s.replay_steps = 10**10
    with pytest.raises(BadSettings, match=r"would take .* GB on 'cpu', of which"):
        FastSac(Noise(100), s)


def test_without_a_known_limit_memory_is_only_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replays, "find_free_bytes", lambda device: None)
    assert describe_memory(10**15, CPU) == "1e+06 GB"


def test_a_step_is_whole(monkeypatch: pytest.MonkeyPatch):
    """Steps are data of their own: what worlds overwrite later is copied."""
    replay = build(4, 2)
    reward = torch.ones(2)
    no = torch.zeros(2, dtype=torch.bool)
    seen = {"actor": torch.ones(2, 3), "critic": torch.ones(2, 1)}
    step = Step(seen, reward, no, no, seen, {}, torch.zeros(2), no, no)
    replay.put(seen, torch.ones(2, 1), step)
    replay.put(seen, torch.ones(2, 1), replace(step, reward=2 * reward))
    reward.zero_()
    seen["actor"].zero_()
    assert replay.reward[:2, 0].tolist() == [1, 2]
    assert replay.seen["actor"][0].sum() == 6
