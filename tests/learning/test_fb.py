"""Forward–backward representations, on a grid of 25 rooms that is known by heart."""

import pytest
import torch
from torch import Tensor

from realworthy.learning.fb import (
    Fb,
    FbSettings,
    compute_fb_loss,
    compute_orthonormality_loss,
    project,
)
from realworthy.learning.learner import BadSettings
from realworthy.tasks.environment.environment import Observations
from tests.learning.toys import Pendulum, Toy

SIDE = 5
ROOMS = SIDE * SIDE
GAMMA = 0.9
EYE = torch.eye(ROOMS)


def travel(room: Tensor, action: Tensor) -> Tensor:
    """(n,) next rooms: along the larger component, or nowhere if both are small."""
    moves = action.abs().amax(1) >= 1 / 3
    is_along_x = action[:, 0].abs() > action[:, 1].abs()
    dx = torch.where(moves & is_along_x, action[:, 0].sign(), 0.0).long()
    dy = torch.where(moves & ~is_along_x, action[:, 1].sign(), 0.0).long()
    x = (room % SIDE + dx).clamp(0, SIDE - 1)
    y = (room // SIDE + dy).clamp(0, SIDE - 1)
    return x + SIDE * y


class Grid(Toy):
    """Nothing is paid for; every room is seen as a place of its own."""

    action_width = 2
    widths = {"actor": ROOMS, "critic": ROOMS}  # noqa: RUF012

    def __init__(self, world_count: int, *, seed: int = 0) -> None:
        super().__init__(world_count, step_limit=20, seed=seed)

    def draw(self) -> Tensor:
        return torch.randint(ROOMS, (self.world_count,), generator=self.generator)

    def look(self) -> Observations:
        return {"actor": EYE[self.state], "critic": EYE[self.state]}

    def move(self, action: Tensor) -> tuple[Tensor, Tensor]:
        self.state = travel(self.state, action)
        none = torch.zeros(self.world_count, dtype=torch.bool)
        return torch.zeros(self.world_count), none


def measure_exactly(to: Tensor) -> Tensor:
    """(rooms, rooms) Σ γᵗ P(sₜ₊₁ = s′) of a policy, by where it leads from each."""
    p = torch.zeros(ROOMS, ROOMS)
    p[torch.arange(ROOMS), to] = 1.0
    return p @ torch.linalg.inv(torch.eye(ROOMS) - GAMMA * p)


def iterate_values(reward: Tensor) -> Tensor:
    """(rooms,) of the best policy there is, for a reward on arrival."""
    moves = torch.tensor([[0.0, 0.0], [1, 0], [-1, 0], [0, 1], [0, -1]])
    rooms = torch.arange(ROOMS)
    after = torch.stack([travel(rooms, a.expand(ROOMS, 2)) for a in moves])
    value = torch.zeros(ROOMS)
    for _ in range(300):
        value = (reward[after] + GAMMA * value[after]).amax(0)
    return value


def follow(learner: Fb, prompt: Tensor) -> tuple[Tensor, Tensor]:
    """Actions of a prompt in every room, and where they lead."""
    learner.use_prompt(prompt)
    action = learner.act({"actor": EYE})
    return action, travel(torch.arange(ROOMS), action)


def quick() -> FbSettings:
    s = FbSettings()
    s.actor_widths = s.forward_widths = s.backward_widths = (16,)
    s.latent_width, s.batch, s.warm_up, s.updates = 8, 32, 8, 2
    return s


def practise(s: FbSettings, count: int) -> Fb:
    grid = Grid(32)
    learner = Fb(grid, s, seed=0)
    for _ in range(count):
        learner.collect(grid)
        learner.update()
    return learner


def test_the_loss_is_least_at_the_successor_measure():
    """In its tabular form, with samples of every step from room to room and what they
    lead to: by gradient descent on M itself, which then is the exact one over ρ."""
    count = 4
    to = torch.tensor([1, 2, 3, 0])
    p = torch.zeros(count, count)
    p[torch.arange(count), to] = 1.0
    exact = p @ torch.linalg.inv(torch.eye(count) - GAMMA * p)
    start = torch.arange(count).repeat(8)
    end = to[start]
    table = torch.zeros(count, count, requires_grad=True)
    optimiser = torch.optim.SGD([table], lr=1.0)
    weight = torch.ones(len(start))
    for _ in range(400):
        following = table.detach()[to[start]][:, end]  # M̄ at what follows
        measure = table[start][:, end]
        loss = compute_fb_loss(measure, following, GAMMA * weight, weight)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    found = table.detach() / count  # density of ρ, which is uniform
    # Pairs of the same sample are left out of one part: 31/32 of it is seen.
    torch.testing.assert_close(found, exact, rtol=0.25, atol=0.1)
    pair = torch.corrcoef(torch.stack([found.flatten(), exact.flatten()]))
    assert pair[0, 1] >= 0.99


def test_orthonormality_is_least_where_b_spreads():
    """On d axes of length √d: ½ d − d on average; one vector for all is worse."""
    d = 4
    axes = project(torch.eye(d)).repeat(64, 1)
    alike = project(torch.ones(64 * d, d))
    spread = compute_orthonormality_loss(axes)
    assert spread.item() == pytest.approx(0.5 * d - d, abs=0.05)
    assert compute_orthonormality_loss(alike) > spread + d


def test_prompts_lie_on_the_sphere():
    learner = practise(quick(), 2)
    goals = learner.prompt_goal({"critic": EYE})
    reward = learner.prompt_reward({"critic": EYE}, torch.rand(ROOMS))
    motion = learner.prompt_motion({"critic": EYE[:12]}, ahead=4)
    assert goals.shape == (ROOMS, 8)
    assert motion.shape == (12, 8)
    for prompt in (goals, reward[None], motion, learner.actor.prompt[None]):
        torch.testing.assert_close(
            prompt.norm(dim=-1), torch.full((len(prompt),), 8**0.5)
        )
    # At the end only what is left of a motion counts.
    torch.testing.assert_close(motion[-1], goals[11])


def test_a_search_finds_the_prompt_of_the_highest_return():
    learner = practise(quick(), 1)
    wanted = project(torch.randn(8, generator=torch.Generator().manual_seed(1)))
    found = learner.search_prompt(lambda z: z @ wanted, rounds=12)
    assert torch.cosine_similarity(found, wanted, dim=0) >= 0.9


def test_what_is_exported_follows_the_prompt_in_use():
    learner = practise(quick(), 2)
    answers = []
    for prompt in learner.prompt_goal({"critic": EYE})[:2]:
        learner.use_prompt(prompt)
        actor = learner.export()
        with torch.no_grad():
            found = actor(EYE, actor.network.initial_hidden(ROOMS))[0]
        torch.testing.assert_close(found, learner.act({"actor": EYE}))
        answers.append(found)
    assert not torch.equal(*answers)


def test_steps_in_which_the_physics_diverged_count_nothing():
    measure, following = torch.randn(2, 6, 6)
    weight = torch.tensor([1.0, 1, 1, 1, 1, 0])
    discount = torch.full((6,), 0.9)
    loss = compute_fb_loss(measure, following, discount, weight)
    measure[5], measure[:, 5] = 100.0, 100.0
    again = compute_fb_loss(measure, following, discount, weight)
    torch.testing.assert_close(loss, again)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"latent_width": 0}, "--latent-width should be above zero, not 0"),
        ({"discount": 1.0}, "--discount 1: what follows for ever has no measure"),
        ({"batch": 1}, "A batch of one step has no other"),
    ],
)
def test_settings_that_misfit_are_refused(changes: dict[str, float], said: str):
    s = quick()
    for name, value in changes.items():
        setattr(s, name, value)
    with pytest.raises(BadSettings, match=said):
        Fb(Pendulum(16), s)


@pytest.mark.slow
def test_rewards_that_were_never_seen_are_climbed_at_once():
    """25 goals and ten rewards of the whole grid, by prompts alone: what they bring, in
    shares of what value iteration does. A prompt by chance brings little of a goal."""
    s = FbSettings(discount=GAMMA, latent_width=ROOMS, prompt_steps=10, noise=0.3)
    s.learning_rate, s.backward_rate, s.target_rate = 3e-3, 1e-3, 0.05
    s.warm_up, s.noise_clip = 32, 0.02
    s.actor_widths, s.forward_widths = (64, 64), (128, 128)
    s.backward_widths = (64,)
    learner = practise(s, 300)
    generator = torch.Generator().manual_seed(1)
    rooms = torch.randint(ROOMS, (4096,), generator=generator)
    rewards = torch.cat([EYE, torch.rand(10, ROOMS, generator=generator)])

    def score(prompt: Tensor, reward: Tensor) -> float:
        worth = measure_exactly(follow(learner, prompt)[1]) @ reward
        return float(worth.mean() / iterate_values(reward).mean())

    found = [
        score(learner.prompt_reward({"critic": EYE[rooms]}, r[rooms]), r)
        for r in rewards
    ]
    assert sum(found) / len(found) >= 0.8
    by_chance = [score(learner._draw_sphere(1)[0], goal) for goal in EYE]
    assert sum(by_chance) / len(by_chance) <= 0.3
