"""Policies that are right by arithmetic, written as whole policies of ours.

Both are one matrix. The cart-pole's is a linear-quadratic regulator, computed from the
twin's own equations; the differential drive's turns wheels by rolling without slip.
"""

from pathlib import Path

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from realworthy.certification.contract.terms import list_columns
from realworthy.policies import Contract
from realworthy.policies.contract import NormaliserRecord, Parity
from realworthy.policies.metadata import write_metadata
from realworthy.policies.terms import Linear
from realworthy.tasks.catalogue import build_task
from realworthy.tasks.classic.regulator import build_regulator
from realworthy.tasks.contract import build_contract
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.wheels.drive import DriveVelocity
from tests.certification.linear import PROVENANCE, write_linear

FEEDBACK = 0.4
"""Share of a wheel's missing speed that is asked for on top."""
Floats32 = NDArray[np.float32]


def write_cartpole(path: Path) -> Path:
    """Balances a pole; bears much more than the task asks for."""
    worlds = TaskWorlds(build_task("cartpole_balance"), 1)
    regulator = build_regulator(
        worlds.simulator,
        qpos=(0.0, 0.0),
        command="cart.command",
        state_cost=(2.0, 10.0, 0.2, 0.2),
        command_cost=0.05,
        device=torch.device("cpu"),
    )
    x, angle, speed, turn = regulator.gain.tolist()
    # place, sine, cosine, half the cart's speed, a tenth of the pole's, last action
    gains = (x, angle, 0.0, 2 * speed, 10 * turn, 0.0)
    force = worlds.task.action.scale[0]
    weights = -np.array([gains], np.float32).T / force
    return write_policy(path, build_contract(worlds), weights)


def write_drive(path: Path) -> Path:
    """Asks of each wheel what the commanded motion needs, and what it lacks of it."""
    task = build_task("drive_velocity")
    assert isinstance(task, DriveVelocity)
    worlds = TaskWorlds(task, 1)
    contract = build_contract(worlds)
    weights = np.zeros((contract.width, 2), np.float32)
    for row, motion in enumerate(torch.eye(2)):
        term = task.terms[row]  # forward, then turn
        assert isinstance(term, Linear)
        scale = np.ravel(term.scale)[0]
        share = task.turn_wheels(motion * 1e-3).numpy() / (1e-3 * scale)
        weights[row] = (1 + FEEDBACK) * share
    columns = list_columns(task.terms)
    for wheel, joint in enumerate(task.wheels.joints):
        seen = [(c.signal, c.age) for c in columns].index((f"{joint}.velocity", 0))
        weights[seen, wheel] = -FEEDBACK
    return write_policy(path, contract, weights)


def write_policy(path: Path, contract: Contract, weights: Floats32) -> Path:
    """One matrix with a whole contract: examples, provenance, an idle normaliser."""
    rows = np.random.default_rng(2).normal(size=(16, contract.width)).astype(np.float32)
    told = msgspec.structs.replace(
        contract,
        normaliser=NormaliserRecord(
            mean=(0.0,) * len(weights), sd=(1.0,) * len(weights)
        ),
        provenance=PROVENANCE,
        parity=Parity(
            observations=tuple(map(tuple, rows.tolist())),
            actions=tuple(map(tuple, (rows @ weights).tolist())),
        ),
    )
    write_linear(path, weights, **write_metadata(told))
    return path
