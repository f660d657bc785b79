"""Findings in plain words, for pages and for the terminal."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from realworthy.gap import RecordingGap, RepeatGap

if TYPE_CHECKING:
    from realworthy.diagnosis.diagnosis import Alternative, CauseKind, Change, Verdict

_GROWTH = {
    "noise_floor": "stays at the noise floor",
    "velocity_bias": "grows with time, as a wrong velocity does",
    "force_bias": "grows with time squared, as a wrong force does",
    "instability": "grows exponentially: the motion itself is unstable",
    "saturated": "is constant from the first row on",
    "mixed": "grows differently in each signal",
}
_SIZES = {
    "delay": "delay {:.3f} s",
    "gain": "gain {:.2f}",
    "bias": "bias {:+.3f}",
}
_CAUSES = {
    "joint_order": "Joints are mixed up",
    "joint_sign": "The sign of a joint is inverted",
    "unit_scale": "A signal is in another unit",
    "encoder_offset": "An encoder's zero is offset",
    "default_pose": "Positions are relative to a default pose",
    "clock_offset": "Signals are not on one clock",
    "command_kind": "Commands are not of the kind stated",
    "rate": "The sampling rate differs from what the log states",
    "dropped_samples": "Samples were lost",
    "stale_samples": "Samples were repeated",
    "frame": "Vectors are in another frame",
    "quaternion_order": "Quaternions are in another order",
    "history_order": "The history is in another order",
    "mass": "A mass is wrong",
    "centre_of_mass": "A centre of mass is wrong",
    "inertia": "An inertia is wrong",
    "armature": "The rotor's inertia is wrong",
    "damping": "Viscous friction is wrong",
    "coulomb_friction": "Dry friction is wrong",
    "stiffness": "A spring's stiffness is wrong",
    "kp": "The position gain is wrong",
    "kd": "The velocity gain is wrong",
    "torque_limit": "The torque limit is wrong",
    "torque_constant": "Torque per ampere is wrong",
    "delay": "Command latency is wrong",
    "gravity_tilt": "The base is not level",
    "contact_friction": "Ground friction is wrong",
    "stribeck": "Friction that is higher at rest",
    "backlash": "Backlash in a gear",
    "hysteresis": "Hysteresis in a gear",
    "flexibility": "A joint or link that bends",
    "drag": "Drag that grows with speed squared",
    "load_friction": "Friction that grows with the load",
    "saturation": "A drive at its limit",
    "thermal_fade": "A motor that weakens as it warms",
    "quantisation": "Encoder quantisation",
    "cable": "A cable that pulls",
    "slosh": "A load that sloshes",
    "supply_sag": "A supply that sags under load",
    "contact": "Contact with something that the twin does not have",
    "unknown": "Something that no known effect explains",
}
_FAILURES = {
    "none": "It ended without success",
    "numerical": "Physics diverged",
    "fall": "It fell",
    "base_contact": "It touched the ground with its body",
    "joint_limit": "It ran into the end of a joint",
    "torque_saturation": "It was at its torque limit for too long",
    "over_speed": "It was too fast",
    "tracking_lost": "It lost its reference",
    "object_dropped": "It dropped the object",
    "grasp_missed": "It missed the grasp",
    "wrong_contact": "It had a forbidden contact",
    "no_progress": "It did not reach its goal in time",
    "oscillation": "It swung faster than 8 Hz",
    "out_of_workspace": "It left its workspace",
    "watchdog": "It was stopped by a watchdog",
}
"""Names of `tasks.failures.Failure`, in small letters."""
_KINDS = {
    "interface": "between robot and log",
    "parametric": "a wrong number in the twin",
    "missing": "missing in the twin",
}
_VERDICTS = {
    "healthy": "No fault found",
    "explained": "Explained",
    "missing_effect": "The twin lacks something",
    "cannot_tell": "Insufficient evidence",
}


def describe_cause(name: str) -> str:
    """A cause's name as a sentence without its full stop."""
    return _CAUSES.get(name) or name.replace("_", " ").capitalize()


def describe_failure(name: str) -> str:
    """What ended an episode, as a sentence without its full stop."""
    return _FAILURES.get(name) or name.replace("_", " ").capitalize()


def describe_end(name: str, seconds: float) -> str:
    """What ended an episode, and when: `fell after 2.3 s`."""
    words = describe_failure(name).removeprefix("It ")
    return f"{words[0].lower()}{words[1:]} after {seconds:.1f} s"


def describe_kind(kind: "CauseKind") -> str:
    """Where a cause lies."""
    return _KINDS[kind]


def describe_verdict(verdict: "Verdict") -> str:
    """A verdict in a word or a few."""
    return _VERDICTS[verdict]


def describe_alternative(other: "Alternative") -> str:
    """`backlash of elbow (play in a gear)`."""
    words = describe_cause(other.name)
    return f"{_locate(other.name, other.joints)} ({words[0].lower()}{words[1:]})"


def describe_change(change: "Change") -> str:
    """`torque limit of elbow`."""
    name = "something unknown" if change.name == "unknown" else change.name
    return _locate(name.replace("_", " "), change.joints)


def describe_growth(one: RecordingGap) -> str:
    """How the error of one recording grows with the horizon."""
    ends = one.growth.saturates_at
    levels_off = f", and levels off after about {ends:.2g} s" if ends else ""
    return f"The error {_GROWTH[one.growth.kind]}{levels_off}."


def describe_effects(recordings: Sequence[RecordingGap], joint: str) -> str:
    """What explains a tenth or more of the joint's error in most recordings."""
    effects: dict[str, list[float]] = {}
    for one in recordings:
        if joint in one.comparison:
            for effect in one.comparison[joint].effects:
                if effect.share >= 0.1:
                    effects.setdefault(effect.name, []).append(effect.value)
    usual = {
        n: sum(v) / len(v) for n, v in effects.items() if 2 * len(v) > len(recordings)
    }
    return ", ".join(_SIZES[name].format(value) for name, value in usual.items())


def gather_remarks(recordings: Sequence[RecordingGap]) -> list[str]:
    """How errors grow and what was assumed, each said once, with whom it concerns."""
    remarks: dict[str, list[str]] = {}
    for one in recordings:
        for words in (describe_growth(one), *one.assumptions):
            remarks.setdefault(words, []).append(one.name)
    return [
        words if len(names) == len(recordings) else f"{', '.join(names)}: {words}"
        for words, names in remarks.items()
    ]


def _locate(what: str, joints: Sequence[str]) -> str:
    return f"{what} of {', '.join(joints)}" if joints else what


def describe_horizons(one: RepeatGap) -> str:
    """When repeats and replays leave the first recording, and ρ; or why there is none.

    Ends in a full stop.
    """
    if one.horizons is None:
        return one.note
    robot, twin = one.horizons.real_real, one.horizons.sim_real
    left = [
        f"after {m.time:.3g} s" if math.isfinite(m.time) else "never"
        for m in (robot, twin)
    ]
    low, high = one.horizons.interval
    least = "at least " if one.horizons.is_lower_bound else ""
    text = (
        f"errors grow e-fold in {1 / one.rate:.2g} s; " if one.rate else ""
    ) + f"repeats of the robot diverge {left[0]}, the twin {left[1]}: "
    if one.horizons.verdict == "not_distinguishable":
        return f"{text}the twin's error is not above the robot's repeatability."
    return (
        f"{text}the twin's error is {least}ρ = {one.horizons.ratio:.3g} times the "
        f"robot's repeatability ({low:.3g} … {high:.3g})."
    )
