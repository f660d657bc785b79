"""Rapid motor adaptation (Kumar et al. 2021): a latent of e, inferred from a history.

Phase 1: z = μ(e) and a = π(x, z) learn together by PPO, where e is known. Phase 2: both
are frozen, and ẑ = φ(history) learns min E‖ẑ − z‖² on the states that π(x, ẑ) visits.
On a robot φ runs as seldom as is asked and π at every step, holding the last ẑ.

Two arms must lose what the adapted policy gains: one whose z stays that of the mean e,
and one whose history is another world's.
"""

from pathlib import Path

import torch
from torch import Tensor

from realworthy.adaptation.adaptation import NO_ROBOT, Adaptation, Arm
from realworthy.adaptation.conditioned import (
    AdaptProblem,
    Teacher,
    play,
    train_randomized,
    train_teacher,
)
from realworthy.adaptation.imitation import ImitationPlan, imitate
from realworthy.adaptation.probe import describe_probe, probe
from realworthy.adaptation.recovery import describe_recovery, measure_recovery
from realworthy.adaptation.saving import save_policy, save_randomized
from realworthy.adaptation.strategy_file import save_conditioned
from realworthy.adaptation.student import (
    ConvolutionOverTime,
    LayersOverTime,
    StudentNetwork,
    build_student,
)
from realworthy.errors import RealworthyError
from realworthy.learning.networks import Actor
from realworthy.progress import Progress, ignore, part
from realworthy.tasks.environment.environment import Observations
from realworthy.tasks.environment.evaluate import Act

_WORLDS = 64
_OTHER_SEED = 31_337
_ACTION_NOISE = 0.05
"""Of UP-OSI, while its estimator learns (Yu et al. 2017, code)."""
_IDENTIFIABLE = 0.3
"""R² of an estimate below which a number counts as not revealed by the history: a
correlation of about a half. Chosen 2026-11-19; it words a note and decides nothing."""


def adapt_rma(
    problem: AdaptProblem, folder: Path, *, progress: Progress = ignore
) -> Adaptation:
    """A latent of e, read from the history by convolutions over time."""
    width = problem.settings.latent_width
    return _adapt(problem, folder, latent_width=width, progress=progress)


def adapt_up_osi(
    problem: AdaptProblem, folder: Path, *, progress: Progress = ignore
) -> Adaptation:
    """A universal policy π(x, e), told an estimate of e (Yu et al. 2017).

    The same two phases without an encoder: z is e itself, φ has plain layers, actions
    are noisy while it learns, and estimates are cut to what training knew.
    """
    return _adapt(problem, folder, latent_width=None, progress=progress)


def _adapt(
    problem: AdaptProblem, folder: Path, *, latent_width: int | None, progress: Progress
) -> Adaptation:
    s = problem.settings
    plain = train_randomized(problem, progress=part(progress, 0.0, 0.4))
    teacher = train_teacher(
        problem, latent_width=latent_width, progress=part(progress, 0.4, 0.8)
    )
    student = _learn_to_infer(
        problem, teacher, latent_width, progress=part(progress, 0.8, 0.95)
    )
    network = student.network
    assert isinstance(network, StudentNetwork)
    judged = problem.build_judged()
    present = problem.history.present

    def act_randomized(seen: Observations) -> Tensor:
        return plain.act({**seen, "policy": seen["policy"][:, present]})

    def act_frozen(seen: Observations) -> Tensor:
        return teacher.act_on(seen, encode_mean(teacher))

    def act_shuffled(seen: Observations) -> Tensor:
        x = student.normaliser(seen["policy"])
        return network.decide(x, network.infer_latent(x.roll(1, 0)))

    acts: dict[str, tuple[str, Act]] = {
        "randomized": ("not told e", act_randomized),
        "frozen": ("told the mean e", act_frozen),
        "shuffled": ("history of another world", act_shuffled),
        "adapted": ("history of its own", _act_by(student)),
        "expert": ("told e", teacher.act),
    }
    played = {name: play(judged, act) for name, (_, act) in acts.items()}
    arms = tuple(Arm.of(name, acts[name][0], played[name]) for name in acts)
    path = save_policy(
        folder / "policy.onnx",
        student,
        judged,
        settings=s,
        found=played["adapted"],
    )
    save_randomized(problem, plain.actor, folder)
    save_conditioned(problem, teacher, folder)
    found = _probe(problem, teacher, student)
    numbers = {f"r2.{name}": value for name, value in found.items()}
    notes = [describe_probe(found, clearly=_IDENTIFIABLE)]
    if s.change_every:
        recovery = measure_recovery(
            judged, _act_by(student), teacher.act, act_randomized
        )
        numbers["recovery_seconds"] = recovery
        notes.append(describe_recovery(recovery))
    return Adaptation(
        method="rma" if latent_width is not None else "up_osi",
        task=problem.definition.name,
        folder=folder,
        policy=path,
        arms=arms,
        adapted="adapted",
        baseline="randomized",
        oracle="expert",
        numbers=numbers,
        notes=tuple(notes),
        stop=NO_ROBOT,
    )


def encode_mean(teacher: Teacher) -> Tensor:
    """(latent,) z of the mean e, which is what no history would suggest."""
    normaliser, width = teacher.actor.normaliser, len(teacher.history.present)
    zero = torch.zeros(len(normaliser.mean))  # e comes standardised: its mean is zero
    return teacher.network.encode(normaliser(zero[None])[:, width:])[0]


def _learn_to_infer(
    problem: AdaptProblem,
    teacher: Teacher,
    latent_width: int | None,
    *,
    progress: Progress,
) -> Actor:
    """Phase 2."""
    s, history = problem.settings, problem.history
    torch.manual_seed(s.seed)  # first weights of torch's own layers
    worlds = problem.build_worlds(_WORLDS, s.seed + _OTHER_SEED)
    told = len(problem.names) if latent_width is None else latent_width
    kind = LayersOverTime if latent_width is None else ConvolutionOverTime
    infer = kind(history.steps, history.frame_width, told)
    if s.latent_every < 1:
        raise RealworthyError(f"{s.latent_every} steps between inferences cannot be.")
    student = build_student(
        teacher,
        infer,
        latent_width=told,
        limit=_find_limits(problem, teacher),
        every=s.latent_every,
    )
    network = student.network
    assert isinstance(network, StudentNetwork)

    def follow(seen: Observations) -> Tensor:
        infer.eval()
        x = student.normaliser(seen["policy"])
        action = network.decide(x, network.infer_latent(x))
        infer.train()
        return action

    def see(seen: Observations) -> Tensor:
        return network.read_frames(student.normaliser(seen["policy"]))

    noise = _ACTION_NOISE if latent_width is None else 0.0
    imitate(
        infer,
        worlds,
        ImitationPlan(step_count=s.student_steps, action_noise=noise, seed=s.seed),
        lead=teacher.act,
        follow=follow,
        see=see,
        answer=teacher.encode,
        progress=progress,
        stage="inferring e from the history",
    )
    return student.eval().requires_grad_(False)


def _find_limits(problem: AdaptProblem, teacher: Teacher) -> Tensor:
    """(2, latent) ends of z over what training drew: beyond them π knows nothing."""
    z = teacher.encode(problem.build_worlds(1024, problem.settings.seed).reset())
    return torch.stack([z.min(0).values, z.max(0).values])


def _act_by(student: Actor) -> Act:
    """Acts as a robot would: with what it remembers, if anything."""
    hidden = torch.zeros(0)

    def act(seen: Observations) -> Tensor:
        nonlocal hidden
        x = seen["policy"]
        if hidden.ndim < 3 or hidden.shape[1] != len(x):
            hidden = student.network.initial_hidden(len(x))
        action, hidden = student(x, hidden)
        return action

    return act


@torch.no_grad()
def _probe(problem: AdaptProblem, teacher: Teacher, student: Actor) -> dict[str, float]:
    """R² of each number of e, linearly from ẑ, in the second half of episodes."""
    worlds = problem.build_worlds(256, problem.settings.seed + _OTHER_SEED + 2)
    act, network = _act_by(student), student.network
    assert isinstance(network, StudentNetwork)
    seen = worlds.reset()
    for _ in range(worlds.step_limit // 2):
        seen = worlds.step(act(seen)).observations
    z = network.infer_latent(student.normaliser(seen["policy"]))
    return probe(z.double().numpy(), seen["e"].double().numpy(), problem.names)
