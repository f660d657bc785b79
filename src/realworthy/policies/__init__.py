"""Policies as artefacts: one `.onnx` with its contract inside; load it and run it.

A `Contract` says what a policy expects of a robot: signals, terms of the observation,
how actions become commands, rates, gains, limits. `terms` computes observations alike
in training, tests and on the robot; an `Observer` keeps their histories; a `Pilot`
joins observer, policy and action to a robot's states and commands. Needs neither torch
nor mujoco: this room is part of what goes onto the robot's computer. Writing policies
is `learning/export.py`'s.
"""

from realworthy.policies.action import ActionMap
from realworthy.policies.contract import Contract
from realworthy.policies.measured_signals import check_measurable, list_measured
from realworthy.policies.observer import Observer
from realworthy.policies.pilot import Pilot
from realworthy.policies.policy import Policy, load_contract, load_policy
from realworthy.policies.terms import Goal, Gravity, Linear, SineCosine, Term

__all__ = [
    "ActionMap",
    "Contract",
    "Goal",
    "Gravity",
    "Linear",
    "Observer",
    "Pilot",
    "Policy",
    "SineCosine",
    "Term",
    "check_measurable",
    "list_measured",
    "load_contract",
    "load_policy",
]
