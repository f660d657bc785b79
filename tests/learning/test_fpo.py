"""FPO and FPO++: ratios without densities, and policies of several ways to act."""

import math
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from realworthy.learning import fpo as fpos
from realworthy.learning.flow import Flow, compute_flow_loss, measure_spread
from realworthy.learning.fpo import FlowSamples, Fpo, FpoSettings, compute_trusted_loss
from realworthy.learning.learner import BadSettings
from realworthy.learning.networks import Activation, Actor, Mlp
from realworthy.learning.ppo import Ppo, small
from realworthy.policies import load_policy
from tests.learning.toys import Bandit, Pendulum
from tests.policies.actors import write
from tests.policies.examples import ACTION, WIDTH


def quick() -> FpoSettings:
    s = FpoSettings()
    s.horizon, s.epochs, s.minibatches = 8, 2, 2
    s.actor_widths = s.critic_widths = (16, 16)
    return s


def collect(s: FpoSettings) -> tuple[Fpo, list[FlowSamples]]:
    """After an update, so that the flow is more than noise."""
    environment = Pendulum(16, seed=1)
    learner = Fpo(environment, s, seed=0)
    learner.collect(environment)
    learner.update()
    learner.collect(environment)
    return learner, learner._judge()[0]


@pytest.mark.parametrize("is_per_pair", [True, False])
def test_the_ratio_is_one_at_the_first_minibatch(is_per_pair: bool):
    """To the last bit, of every pair; after a step no longer. Sabotage: with pairs
    drawn anew it is not one either."""
    s = quick()
    s.is_per_pair = is_per_pair
    learner, (first, second) = collect(s)
    assert first.loss.std() > 0.1
    ratio, _ = learner.compute_ratios(first)
    assert torch.equal(ratio, torch.ones(64, 8 if is_per_pair else 1))
    anew = torch.randn(first.noise.shape, generator=learner.generator)
    fresh = FlowSamples(
        first.actor,
        first.critic,
        first.action,
        anew,
        first.time,
        first.numbers,
        first.loss,
    )
    assert (learner.compute_ratios(fresh)[0] - 1).abs().max() > 0.1
    learner._descend(first)
    moved = (learner.compute_ratios(second)[0] - 1).abs().max()
    assert 0 < moved < 0.5


def test_pairs_are_kept_through_all_passes(monkeypatch: pytest.MonkeyPatch):
    seen: list[Tensor] = []
    learner, samples = collect(quick())
    descend = learner._descend

    def note(batch: FlowSamples) -> Tensor:
        seen.append(batch.noise)
        return descend(batch)

    monkeypatch.setattr(learner, "_descend", note)
    learner._descend_all(samples)
    assert len(seen) == 4
    assert all(torch.equal(seen[i], seen[i + 2]) for i in range(2))


def test_the_loss_falls_as_the_likelihood_grows():
    """Of one-dimensional normal distributions, whose field is known: for a ~ N(m, s²),
    v(x, τ) = m + (τ s² − (1 − τ)) (x − τ m) / (τ² s² + (1 − τ)²)."""
    generator = torch.Generator().manual_seed(0)
    action = torch.randn(300, 1, 1, generator=generator)
    noise = torch.randn(300, 4000, 1, generator=generator)
    # Stratified in τ, so that few draws do.
    tau = (torch.arange(4000) + 0.5)[None, :, None].expand_as(noise) / 4000

    def measure(mean: Tensor, std: Tensor) -> tuple[Tensor, Tensor]:
        x = tau * action + (1 - tau) * noise
        variance = tau.square() * std.square() + (1 - tau).square()
        slope = (tau * std.square() - (1 - tau)) / variance
        velocity = mean + slope * (x - tau * mean)
        loss = compute_flow_loss(velocity, action, noise).mean(1)
        z = (action[:, 0, 0] - mean[:, 0, 0]) / std[:, 0, 0]
        return -loss, -0.5 * z.square() - std[:, 0, 0].log()

    shape = (300, 1, 1)
    means = 0.3 * torch.randn(2, *shape, generator=generator)
    std = torch.ones(shape)
    (loss, wanted), (other, others) = measure(means[0], std), measure(means[1], std)
    found = np.corrcoef(np.stack([(loss - other).numpy(), (wanted - others).numpy()]))
    assert found[0, 1] >= 0.95


@pytest.mark.parametrize("advantage", [1.5, -1.5])
def test_the_trust_region_leads_back_where_an_action_was_bad(advantage: float):
    """By hand at ρ = 1.4, ε = 0.2: −min(1.4 A, 1.2 A) = −1.8 and flat for A = 1.5;
    −(1.4 A − 1.5/0.4 · 0.16) = 2.7 and rising at A = −1.5."""
    ratio = torch.tensor([1.4], requires_grad=True)
    loss = compute_trusted_loss(ratio, torch.tensor(advantage), 0.2, pulls_back=True)
    loss.sum().backward()
    assert ratio.grad is not None
    want, slope = (-1.8, 0.0) if advantage > 0 else (2.7, 4.5)
    assert loss.item() == pytest.approx(want)
    assert ratio.grad.item() == pytest.approx(slope)
    below = torch.tensor([0.4], requires_grad=True)
    loss = compute_trusted_loss(below, torch.tensor(-1.5), 0.2, pulls_back=True)
    loss.sum().backward()
    assert below.grad is not None
    assert below.grad.item() < 0  # a step raises ρ again
    plain = torch.tensor([0.4], requires_grad=True)
    compute_trusted_loss(
        plain, torch.tensor(-1.5), 0.2, pulls_back=False
    ).sum().backward()
    assert plain.grad is not None
    assert plain.grad.item() == 0


def test_ratios_are_cut_and_their_gradients_are_not():
    learner, (first, _) = collect(quick())
    far = FlowSamples(
        first.actor,
        first.critic,
        first.action,
        first.noise,
        first.time,
        first.numbers,
        first.loss + 50.0,
    )
    ratio, _ = learner.compute_ratios(far)
    torch.testing.assert_close(ratio, torch.full_like(ratio, math.exp(10.0)))
    ratio.mean().backward()
    grads = [w.grad for w in learner.actor.flow.parameters()]
    assert all(g is not None and g.abs().max() > 0 for g in grads)


def test_spread_is_the_entropy_but_for_a_constant():
    """Of samples twice as wide it is larger by width · log 2."""
    x = torch.randn(5, 400, 3, generator=torch.Generator().manual_seed(0))
    wider = measure_spread(2 * x, 3) - measure_spread(x, 3)
    torch.testing.assert_close(wider, torch.full((5,), 3 * math.log(2)))
    same = torch.zeros(1, 6, 2, requires_grad=True)
    measure_spread(same, 3).sum().backward()
    assert same.grad is not None
    assert torch.isfinite(same.grad).all()


def test_steps_in_which_the_physics_diverged_are_not_learned_from():
    class Breaking(Bandit):
        def is_invalid(self) -> Tensor:
            return torch.arange(self.world_count) == 0

    environment = Breaking(16)
    learner = Fpo(environment, quick())
    learner.collect(environment)
    weight = torch.cat([x.numbers[:, 3] for x in learner._judge()[0]])
    assert weight.sum() == 15 * 8
    assert learner.update().is_finite


def train_bandit(s: FpoSettings, environment: Bandit, count: int, seed: int = 0) -> Fpo:
    learner = Fpo(environment, s, seed=seed)
    for _ in range(count):
        learner.collect(environment)
        learner.update()
    return learner


def lively() -> FpoSettings:
    s = quick()
    s.horizon, s.epochs, s.minibatches = 4, 8, 4
    s.actor_widths = s.critic_widths = (32, 32)
    s.clip, s.learning_rate = 0.2, 3e-3
    return s


@pytest.mark.parametrize("one_step", [False, True])
def test_the_best_action_is_found(one_step: bool):
    s = lively()
    s.one_step = one_step
    environment = Bandit(64)
    learner = train_bandit(s, environment, 40)
    best = torch.tensor([0.5, -0.3])
    assert (learner.act(environment.reset())[0] - best).abs().max() < 0.15


CORNERS = torch.tensor([[0.8, 0.8], [0.8, -0.8], [-0.8, 0.8], [-0.8, -0.8]])


class FourWays(Bandit):
    """One step; the reward falls with the squared distance from the nearest corner."""

    def move(self, action: Tensor) -> tuple[Tensor, Tensor]:
        far = (action[:, None] - CORNERS).square().sum(-1).amin(1)
        return -far, torch.ones(self.world_count, dtype=torch.bool)


def count_ways(actions: Tensor) -> int:
    """Corners near which a tenth of the actions are."""
    near = torch.cdist(actions, CORNERS) < 0.4
    return int((near.float().mean(0) >= 0.1).sum())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_flow_holds_several_ways_where_a_normal_distribution_holds_one(seed: int):
    environment = FourWays(256)
    s = lively()
    s.entropy_weight = 0.02
    learner = train_bandit(s, environment, 40, seed)
    seen = environment.look()
    drawn = torch.cat([learner.explore(seen) for _ in range(4)])
    assert count_ways(drawn) >= 3
    p = small()
    p.horizon = 4
    other, worlds = Ppo(FourWays(256), p, seed=seed), FourWays(256)
    for _ in range(120):
        other.collect(worlds)
        other.update()
    noise = torch.randn(1024, 2, generator=torch.Generator().manual_seed(seed))
    assert count_ways(other.act(seen)[:1] + other.actor.std.detach() * noise) == 1


@pytest.mark.slow
def test_pairs_that_are_drawn_anew_teach_nothing(monkeypatch: pytest.MonkeyPatch):
    """Sabotage: the ratio then compares the loss at one pair with that at another."""
    compute = Fpo._compute_losses

    def redraw(self: Fpo, batch: FlowSamples) -> Tensor:
        noise = torch.randn(batch.noise.shape, generator=self.generator)
        time = torch.rand(batch.time.shape, generator=self.generator)
        return compute(
            self,
            FlowSamples(
                batch.actor,
                batch.critic,
                batch.action,
                noise,
                time,
                batch.numbers,
                batch.loss,
            ),
        )

    found = []
    for is_whole in (True, False):
        if not is_whole:
            monkeypatch.setattr(Fpo, "_compute_losses", redraw)
        environment = Bandit(64)
        learner = train_bandit(lively(), environment, 25)
        best = torch.tensor([0.5, -0.3])
        found.append(
            float((learner.explore(environment.look()) - best).norm(dim=1).mean())
        )
    assert found[1] > 2 * found[0]


def build_flow_actor(steps: int, hidden: tuple[int, ...]) -> Actor:
    generator = torch.Generator().manual_seed(0)
    field = Mlp(
        WIDTH + ACTION.width + fpos.TIME_WIDTH,
        hidden,
        ACTION.width,
        activation=Activation.SILU,
        output_gain=1.0,
        generator=generator,
    )
    made = Actor(Flow(field, ACTION.width, steps), WIDTH, ACTION.width, std=1.0)
    made.normaliser.observe(3 * torch.randn(50, WIDTH, generator=generator) + 1)
    return made


@pytest.mark.parametrize("steps", [1, 10])
def test_a_file_has_all_steps_of_a_flow_in_it(tmp_path: Path, steps: int):
    exported = write(tmp_path / "flow.onnx", build_flow_actor(steps, (32, 32)))
    assert set(exported.worst) == {"onnxruntime", "numpy"}
    assert max(exported.worst.values()) <= 1e-5
    sizes = [x.stat().st_size for x in (tmp_path / "flow.onnx",)]
    assert sizes[0] < 100_000  # weights are there once, however many steps


def test_a_flow_of_ten_steps_answers_200_times_a_second(tmp_path: Path):
    """On one core, three layers of 256: by processor time, of a busy machine."""
    write(tmp_path / "flow.onnx", build_flow_actor(10, (256, 256, 256)))
    policy = load_policy(tmp_path / "flow.onnx")
    seen = np.zeros(WIDTH)
    for _ in range(5):
        policy.act(seen)
    began = time.process_time()
    for _ in range(50):
        policy.act(seen)
    assert (time.process_time() - began) / 50 <= 0.005


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"flow_samples": 0}, "--flow-samples should be above zero, not 0"),
        ({"flow_steps": 0}, "--flow-steps should be above zero"),
        ({"clip": -0.1}, "--clip should be above zero, not -0.1"),
        ({"weight_memory": 1.0}, "--weight-memory 1 is no share of a mean"),
        ({"entropy_weight": 0.1, "flow_samples": 3}, "3 actions has no neighbour 3"),
        ({"minibatches": 1000}, "1000 minibatches were asked of 128 samples"),
    ],
)
def test_settings_that_misfit_are_refused(changes: dict[str, float], said: str):
    s = quick()
    for name, value in changes.items():
        setattr(s, name, value)
    with pytest.raises(BadSettings, match=said):
        Fpo(Pendulum(16), s)
