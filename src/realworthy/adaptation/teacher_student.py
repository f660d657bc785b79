"""Teacher and student: one learns with e, the other copies it from measurements.

    min_S E ‖π_S(o_{t−H:t}) − π_T(x, e)‖²,  on states that the student itself visits

(DAgger, Ross et al. 2011). Beside the student stands its clone, which learned from
as many answers on the teacher's states alone, and domain randomization, which saw
neither. The teacher may know what no history reveals: the imitation gap is shown by
region, so that one sees where.
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
from realworthy.adaptation.saving import POLICY, save_policy, save_randomized
from realworthy.learning.networks import Activation, Actor, Mlp
from realworthy.progress import Progress, ignore, part
from realworthy.tasks.environment.environment import Observations
from realworthy.tasks.environment.worlds import TaskWorlds

_WIDTHS = (256, 128)
_WORLDS = 64
"""In which a student practises: more worlds, each for a shorter time, visit fewer of
the states that follow late from its own mistakes."""
_OTHER_SEED = 31_337


def adapt_teacher_student(
    problem: AdaptProblem, folder: Path, *, progress: Progress = ignore
) -> Adaptation:
    """A student of a history, beside its clone and domain randomization."""
    s = problem.settings
    plain = train_randomized(problem, progress=part(progress, 0.0, 0.35))
    teacher = train_teacher(
        problem, latent_width=None, progress=part(progress, 0.35, 0.7)
    )
    student = _learn(problem, teacher, clones=False, progress=part(progress, 0.7, 0.85))
    clone = _learn(problem, teacher, clones=True, progress=part(progress, 0.85, 0.95))
    judged = problem.build_judged()
    present = problem.history.present
    arms, path = [], folder / POLICY
    for name, about, act in (
        ("randomized", "no history, not told e", _see_present(plain.act, present)),
        ("clone", "history; learned on the teacher's states", act_by(clone)),
        ("adapted", "history; learned on its own states", act_by(student)),
        ("expert", "told e", teacher.act),
    ):
        found = play(judged, act)
        arms.append(Arm.of(name, about, found))
        if name == "adapted":
            save_policy(path, student, judged, settings=s, found=found)
    save_randomized(problem, plain.actor, folder)
    gaps = measure_imitation_gap(problem, teacher, student)
    return Adaptation(
        method="teacher_student",
        task=problem.definition.name,
        folder=folder,
        policy=path,
        arms=tuple(arms),
        adapted="adapted",
        baseline="randomized",
        oracle="expert",
        numbers={f"imitation_gap.{name}": gap for name, gap in gaps.items()},
        notes=(_describe_gaps(gaps),),
        stop=NO_ROBOT,
    )


def act_by(actor: Actor):
    """Acts by a policy without memory that sees all observations with history."""

    def act(observations: Observations) -> Tensor:
        x = observations["policy"]
        return actor(x, actor.network.initial_hidden(len(x)))[0]

    return act


def measure_imitation_gap(
    problem: AdaptProblem, teacher: Teacher, student: Actor
) -> dict[str, float]:
    """Region → root mean square of student − teacher, in actions.

    `start` is the first history of an episode, which says nothing yet; `later` is the
    rest; `NAME.low` and `.high` are the lowest and highest third of a number of e.
    """
    worlds = problem.build_worlds(_WORLDS, problem.settings.seed + _OTHER_SEED + 1)
    act = act_by(student)
    observations = worlds.reset()
    off, time, e = [], [], []
    for _ in range(worlds.step_limit):
        action = act(observations)
        off.append((action - teacher.act(observations)).square().mean(1))
        time.append(worlds.scene.step_count.clone())
        e.append(observations["e"])
        observations = worlds.step(action).observations
    square, when, numbers = torch.cat(off), torch.cat(time), torch.cat(e)
    early = when < problem.history.steps
    regions = {"start": early, "later": ~early}
    for i, name in enumerate(problem.names):
        low, high = numbers[:, i].quantile(torch.tensor([1 / 3, 2 / 3]))
        regions[f"{name}.low"] = ~early & (numbers[:, i] <= low)
        regions[f"{name}.high"] = ~early & (numbers[:, i] >= high)
    return {
        name: float(square[where].mean().sqrt())
        for name, where in regions.items()
        if bool(where.any())
    }


def _learn(
    problem: AdaptProblem, teacher: Teacher, *, clones: bool, progress: Progress
) -> Actor:
    s, history = problem.settings, problem.history
    worlds: TaskWorlds = problem.build_worlds(_WORLDS, s.seed + _OTHER_SEED)
    network = Mlp(
        history.width,
        _WIDTHS,
        worlds.action_width,
        activation=Activation.ELU,
        output_gain=0.01,
        generator=torch.Generator().manual_seed(s.seed),
    )
    student = Actor(network, history.width, worlds.action_width, 1.0)
    student.normaliser = history.spread(teacher.actor.normaliser)
    plan = ImitationPlan(step_count=s.student_steps, clones=clones, seed=s.seed)
    imitate(
        network.layers,
        worlds,
        plan,
        lead=teacher.act,
        follow=act_by(student),
        see=lambda observations: student.normaliser(observations["policy"]),
        answer=teacher.act,
        progress=progress,
        stage="the clone" if clones else "the student",
    )
    return student.requires_grad_(False)


def _see_present(act, present: Tensor):
    """`act` of a policy that sees the present alone, in worlds with histories."""
    return lambda seen: act({**seen, "policy": seen["policy"][:, present]})


def _describe_gaps(gaps: dict[str, float]) -> str:
    worst = max((k for k in gaps if k not in ("start", "later")), key=gaps.__getitem__)
    name, _, end = worst.rpartition(".")
    start = gaps.get("start", float("nan"))
    return (
        f"The student differs from its teacher by {gaps['later']:.2g} of an action"
        f" (rms), by {start:.2g} before its history is full, and most, by"
        f" {gaps[worst]:.2g}, where {name} is {end}."
    )
