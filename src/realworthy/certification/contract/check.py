"""A policy's contract beside the twin and the task that it is to be certified on.

What names nothing in twin or task blocks: nothing can be played, `check_playable`
raises and the command line ends with status 2. What can be played, and is not what the
policy was made for, is a failed finding and part of a certificate that fails. What may
be meant is a warning. A policy that Realworthy trained must be as the task says; one
from elsewhere may order and scale as it likes, if its contract is true.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from realworthy.certification.contract.finding import (
    Aspect,
    ContractFinding,
    Mark,
    check_playable,
)
from realworthy.certification.contract.numbers import (
    compare_delays,
    compare_envelope,
    compare_gains,
    compare_limits,
    compare_range,
    judge_normaliser,
    judge_parity,
)
from realworthy.certification.contract.terms import compare_terms
from realworthy.policies import Contract, Policy
from realworthy.policies.measured_signals import find_unmeasured
from realworthy.tasks.contract import build_contract, list_measured
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.twins.commands import describe_commands
from realworthy.twins.layout import Layout

__all__ = ["Aspect", "ContractFinding", "Mark", "check_interface", "check_playable"]

_SAME_RATE = 0.01
"""Share by which two periods may differ: clocks of boards are off by far less, any two
rates in use (50, 60, 100, … Hz) by far more."""
Floats = NDArray[np.floating]


def check_interface(
    policy: Policy | Contract, worlds: TaskWorlds, *, seen: Floats | None = None
) -> tuple[ContractFinding, ...]:
    """What fits and what does not, by aspect; static but for parity.

    `seen` (n, width) are raw observations of the policy's own play in these worlds:
    with them the normaliser is judged too.
    """
    contract = policy if isinstance(policy, Contract) else policy.contract
    task = build_contract(worlds)
    findings = [
        *_check_twin(contract, task),
        *_check_names(contract, worlds),
        *_check_measurable(contract, worlds),
        *_check_inputs(contract, task),
        *compare_terms(contract, task),
        *_check_feedback(contract),
        *_check_rate(contract, task),
        *compare_gains(contract, task),
        *compare_limits(contract, task),
        *compare_range(contract, worlds),
        *compare_delays(contract, task),
        *compare_envelope(contract, worlds),
        *judge_normaliser(contract, seen),
        *([] if isinstance(policy, Contract) else judge_parity(policy)),
    ]
    looked = [a for a in Aspect if a is not Aspect.PARITY or policy is not contract]
    return tuple(_fill_in(findings, looked, contract))


def _fill_in(
    found: list[ContractFinding], looked: Iterable[Aspect], contract: Contract
) -> Iterator[ContractFinding]:
    """Aspects in order, those without any fault as fine."""
    c = contract
    longest = max(term.history for term in c.terms)
    feedback = c.conventions.action_feedback
    fine = {
        Aspect.TWIN: f"It was trained on '{c.twin.name}' for '{c.task}'.",
        Aspect.JOINTS: f"The twin has all {len(c.joints)} joints.",
        Aspect.COMMANDS: f"{c.action.width} commands of kind {c.command_kind}.",
        Aspect.MEASURABLE: "Everything that it sees is measured or given.",
        Aspect.INPUTS: f"The task gives its {len(c.inputs)} inputs.",
        Aspect.TERMS: f"{len(c.terms)} terms, {c.width} numbers.",
        Aspect.ORDER: "One order of joints throughout.",
        Aspect.SIGNS: "No sign differs from the task's.",
        Aspect.UNITS: "No unit differs from the task's.",
        Aspect.OFFSETS: "Zeros are the task's.",
        Aspect.HISTORY: f"Up to {longest} values, oldest first.",
        Aspect.FEEDBACK: f"Last actions are shown as {feedback}.",
        Aspect.RATE: f"{1 / c.period:g} actions/s, {c.substeps} substeps.",
        Aspect.GAINS: f"Gains of {len(c.gains)} drives are the twin's.",
        Aspect.LIMITS: f"Limits of {len(c.limits)} joints are within the twin's.",
        Aspect.RANGE: "A zero action is within every range.",
        Aspect.DELAYS: "Delays are within those of training.",
        Aspect.ENVELOPE: f"The twin is within {len(c.envelope)} ranges of training.",
        Aspect.NORMALISER: "It fits what the policy sees.",
        Aspect.PARITY: "It answers as it did at export.",
    }
    for aspect in looked:
        ours = [finding for finding in found if finding.name is aspect]
        yield from ours or [
            ContractFinding(name=aspect, mark=Mark.OK, about=fine[aspect])
        ]


def _check_twin(contract: Contract, task: Contract) -> Iterator[ContractFinding]:
    for subject, ours, theirs in (
        ("twin", contract.twin.name, task.twin.name),
        ("task", contract.task, task.task),
    ):
        if ours != theirs:
            yield ContractFinding(
                name=Aspect.TWIN,
                mark=Mark.WARNING,
                about=f"It was trained for {subject} '{ours}', not '{theirs}'.",
                remedy="A certificate holds for the twin and task it was made on.",
            )
    then, now = contract.task_file, task.task_file
    if then is not None and now is not None and then.sha256 != now.sha256:
        yield ContractFinding(
            name=Aspect.TWIN,
            mark=Mark.WARNING,
            about=f"{now.path} has changed since the policy learned.",
            remedy="A certificate holds for the task as it is now.",
        )
    if contract.task_settings != task.task_settings:
        yield ContractFinding(
            name=Aspect.TWIN,
            mark=Mark.WARNING,
            about=f"It was trained with {_list_settings(contract)}, not with"
            f" {_list_settings(task)}.",
            remedy="A certificate holds for the task as it is set now.",
        )


def _list_settings(contract: Contract) -> str:
    """What of the task was set, in words."""
    settings = (f"{name}={value}" for name, value in contract.task_settings.items())
    return ", ".join(settings) or "the task's own settings"


def _check_names(contract: Contract, worlds: TaskWorlds) -> Iterator[ContractFinding]:
    has = Layout(worlds.bound).joints
    if missing := [joint for joint in contract.joints if joint not in has]:
        yield ContractFinding(
            name=Aspect.JOINTS,
            mark=Mark.FAILED,
            about=f"The twin has no joint '{missing[0]}'"
            f" ({len(missing)} of {len(contract.joints)} are missing).",
            remedy=f"It has {', '.join(has)}.",
            blocks=True,
        )
    lines = {line.signal: line for line in describe_commands(worlds.bound)}
    for name in contract.action.commands:
        if name not in lines:
            yield ContractFinding(
                name=Aspect.COMMANDS,
                mark=Mark.FAILED,
                about=f"The twin takes no command '{name}'.",
                remedy=f"It takes {', '.join(lines)}.",
                blocks=True,
            )
        elif lines[name].kind != contract.command_kind:
            yield ContractFinding(
                name=Aspect.COMMANDS,
                mark=Mark.FAILED,
                about=f"'{name}' is of kind {lines[name].kind} in the twin; the policy"
                f" gives commands of kind {contract.command_kind}.",
                remedy="Give the twin drives of that kind.",
                blocks=True,
            )
    moved = worlds.task.action.commands
    if left := [name for name in moved if name not in contract.action.commands]:
        yield ContractFinding(
            name=Aspect.COMMANDS,
            mark=Mark.WARNING,
            about=f"It gives no '{left[0]}', which the task moves"
            f" ({len(left)} of {len(moved)} are left out).",
            remedy="These stay as they begin.",
        )


def _check_measurable(
    contract: Contract, worlds: TaskWorlds
) -> Iterator[ContractFinding]:
    needed = {*contract.inputs, *contract.action.names}
    exists, measured = worlds.simulator.signals, list_measured(worlds)
    for name in find_unmeasured(contract.terms, {*measured, *needed}):
        is_there = name in exists
        yield ContractFinding(
            name=Aspect.MEASURABLE,
            mark=Mark.FAILED,
            about=f"'{name}' exists in simulation only; no robot measures it."
            if is_there
            else f"Nothing measures '{name}', and no input is called so.",
            remedy="Leave the term to the critic and train again, or estimate the"
            " signal on the robot and say so in the task.",
            blocks=not is_there,
        )


def _check_inputs(contract: Contract, task: Contract) -> Iterator[ContractFinding]:
    for name, ours in contract.inputs.items():
        theirs = task.inputs.get(name)
        if theirs is None:
            has = ", ".join(task.inputs) or "none"
            yield ContractFinding(
                name=Aspect.INPUTS,
                mark=Mark.FAILED,
                about=f"The task gives no input '{name}'.",
                remedy=f"Its inputs: {has}.",
                blocks=True,
            )
        elif theirs.lower < ours.lower or theirs.upper > ours.upper:
            yield ContractFinding(
                name=Aspect.INPUTS,
                mark=Mark.WARNING,
                about=f"The task gives '{name}' from {theirs.lower:g} to"
                f" {theirs.upper:g}; it was trained on {ours.lower:g} to"
                f" {ours.upper:g}.",
                remedy="Certify within its range, or train on the wider one.",
            )


def _check_feedback(contract: Contract) -> Iterator[ContractFinding]:
    action = contract.action
    sees_action = any({*t.signals} & {*action.names} for t in contract.terms)
    is_raw = contract.conventions.action_feedback == "raw"
    if sees_action and is_raw and action.smoothing < 1:
        yield ContractFinding(
            name=Aspect.FEEDBACK,
            mark=Mark.WARNING,
            about=f"It is shown raw actions, and smoothing by {action.smoothing:g}"
            " makes those that are used others.",
            remedy="Compare with the trainer: raw actions are those before smoothing.",
        )


def _check_rate(contract: Contract, task: Contract) -> Iterator[ContractFinding]:
    if abs(contract.period / task.period - 1) > _SAME_RATE:
        yield ContractFinding(
            name=Aspect.RATE,
            mark=Mark.FAILED,
            about=f"It acts every {contract.period * 1e3:g} ms; the task acts every"
            f" {task.period * 1e3:g} ms.",
            remedy="Build the task with the policy's period, or train again.",
        )
    elif contract.substeps != task.substeps:
        yield ContractFinding(
            name=Aspect.RATE,
            mark=Mark.WARNING,
            about=f"Its actions lasted {contract.substeps} physics steps in training,"
            f" {task.substeps} here.",
            remedy="Another time step is another simulator: the gap between is small"
            " or large; measure it by certifying at both.",
        )
