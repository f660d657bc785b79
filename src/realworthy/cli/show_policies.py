"""`show policy.onnx`: what a policy sees, what its actions mean, how well it did."""

from pathlib import Path

from rich.text import Text

from realworthy.cli.printing import (
    emit_heading,
    emit_note,
    emit_table,
    number,
    span,
)
from realworthy.policies import Contract, Linear, load_policy
from realworthy.policies.contract import JointLimits
from realworthy.policies.terms import Term
from realworthy.recordings.signals import UNITS

_MAX_PRINTED_SIGNALS = 4
"""Signals up to which all are printed: so many fill a line."""


def show_policy(path: str) -> object:
    """The contract in words and tables; the policy is run once to see that it holds."""
    policy = load_policy(path)
    contract = policy.contract
    network = "recurrent network" if policy.recurrent else "network"
    emit_heading(Path(path).name, f"task {contract.task}, twin {contract.twin.name}")
    emit_note(
        f"{network}, {contract.width} numbers in, {contract.action.width} out, every"
        f" {1000 * contract.period:g} ms ({1 / contract.period:g} Hz)",
        style="",
    )
    _emit_evaluation(contract)
    _emit_tables(contract)
    _emit_conventions(contract)
    if contract.parity is not None:
        count = len(contract.parity.actions)
        emit_note(f"Answers as at export: {count} of {count} examples.")
    return {"name": Path(path).stem, "engine": policy.engine, "contract": contract}


def _emit_evaluation(contract: Contract) -> None:
    found = contract.evaluation
    if found is None:
        emit_note("Not evaluated.")
        return
    lower, upper = found.success_interval
    low, high = found.return_interval
    emit_note(
        f"success {found.success:.1%} (95 %: {lower:.1%} … {upper:.1%}), return"
        f" {found.mean_return:.4g} ({low:.4g} … {high:.4g}), in {found.episode_count}"
        " simulated episodes",
        style="",
    )


def _emit_others(contract: Contract) -> None:
    """Inputs that no term is in, and outputs beside the action."""
    rows = [
        (name, "image", _shape(image.shape), f"camera '{image.camera}'")
        for name, image in contract.images.items()
    ]
    rows += [(k, "array", _shape(v), "a program") for k, v in contract.arrays.items()]
    if rows:
        emit_table("Sees beside its terms", ("input", "kind", "shape", "from"), rows)
    if contract.outputs:
        rows = [(name, _shape(shape)) for name, shape in contract.outputs.items()]
        emit_table("Gives beside the action", ("output", "shape"), rows)


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))


def _emit_tables(contract: Contract) -> None:
    action = contract.action
    emit_table(
        "Sees",
        ("term", "kind", "numbers", "history", "clip", "of"),
        [
            (t.name, _kind(t), t.width, t.history, number(t.clip), _list(t.signals))
            for t in contract.terms
        ],
    )
    _emit_others(contract)
    gains = [contract.gains.get(owner) for owner in contract.command_owners]
    unit = UNITS.get(contract.command_kind, "")
    emit_table(
        f"Commands: {contract.command_kind} = offset + scale · action, the action"
        f" within ±{action.clip:g}" + _smoothing(action.smoothing),
        ("name", f"offset [{unit}]", f"scale [{unit}]", "kp", "kd"),
        [
            (name, offset, scale, number(g and g.kp), number(g and g.kd))
            for name, offset, scale, g in zip(
                action.commands, action.offset, action.scale, gains, strict=True
            )
        ],
    )
    if action.bounds:
        emit_table(
            "Command bounds",
            ("name", f"within [{unit}]", f"of where it is [{unit}]"),
            [
                (name, span((bound.lower, bound.upper)), f"±{bound.lead:.3g}")
                for name, bound in zip(action.commands, action.bounds, strict=True)
            ],
        )
    emit_table(
        "Inputs from its user",
        ("input", "range", "default", "unit"),
        [
            (name, span((each.lower, each.upper)), each.default, each.unit)
            for name, each in contract.inputs.items()
        ],
    )
    emit_table(
        "Limits that training assumed",
        ("joint", "position", "velocity", "effort"),
        [
            (joint, _range(each), number(each.velocity), number(each.effort))
            for joint, each in contract.limits.items()
        ],
    )
    emit_table(
        "Trained on",
        ("parameter", "range"),
        [
            (name, span((each.lower, each.upper)))
            for name, each in contract.envelope.items()
        ],
    )


def _emit_conventions(contract: Contract) -> None:
    ways, delays = contract.conventions, contract.delays
    seen, done = (
        f"{1000 * low:g} … {1000 * high:g} ms"
        for low, high in (delays.observation, delays.action)
    )
    emit_note(
        f"History oldest first within each term; quaternions {ways.quaternion}; gyro in"
        f" the {ways.gyro_frame}'s frame; gravity points {ways.gravity}; last action as"
        f" {ways.action_feedback}. Delays in training: observation {seen}, action"
        f" {done}."
    )
    if (origin := contract.provenance) is not None:
        versions = ", ".join(f"{name} {v}" for name, v in origin.versions.items())
        commit = f", commit {origin.git[:12]}" if origin.git else ""
        emit_note(f"Made {origin.created} with {versions}{commit}.")


def _kind(term: Term) -> str:
    if isinstance(term, Linear):
        return "(signal − offset) · scale" if term.offset or term.scale else "signal"
    return type(term).__name__.lower()


def _list(signals: tuple[str, ...]) -> str:
    """All of a few names, else the first, the last and how many."""
    if len(signals) <= _MAX_PRINTED_SIGNALS:
        return ", ".join(signals)
    return f"{signals[0]} … {signals[-1]} ({len(signals)})"


def _smoothing(alpha: float) -> str:
    return "" if alpha == 1 else f", smoothed with α = {alpha:g}"


def _range(limits: JointLimits) -> Text:
    """Empty where there is no limit on either side."""
    if limits.lower is None and limits.upper is None:
        return Text("")
    lower = -float("inf") if limits.lower is None else limits.lower
    upper = float("inf") if limits.upper is None else limits.upper
    return span((lower, upper))
