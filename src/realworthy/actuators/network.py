"""Drives learned from a robot: a small network from errors and velocities to torque.

The file is an .npz with the arrays of a PyTorch module under their own names: an MLP as
`0.weight`, `0.bias`, `2.weight` …; an LSTM as `lstm.weight_ih_l0` … (gates i, f, g, o)
and `linear.weight`. Published networks disagree about the sign of the error, the scales
and the time between inputs; the description says all of them. The network stands for
controller and motor together, so nothing physical inside it can be varied; its torque
still passes `strength`, the limits and the friction of the actuator.
"""

import math
from pathlib import Path
from typing import Literal, final

import array_api_compat as api
import numpy as np

from realworthy.actuators.arrays import Array, State, constant, select, shift_in, zeros
from realworthy.actuators.kinds import ActuatorStage, BadActuator
from realworthy.artefacts.arrays import read_arrays
from realworthy.errors import BadFile

Activation = Literal["softsign", "elu", "relu", "tanh"]


class MotorNetwork(ActuatorStage, frozen=True, kw_only=True, tag="network"):
    """A learned drive: where its weights are and how its inputs are made."""

    file: str
    """.npz of weights; relative to the folder of the file that names it."""
    form: Literal["mlp", "lstm"]
    period: float
    """[s] between the inputs of an MLP's history, or between the steps of an LSTM."""
    error: Literal["goal_minus_position", "position_minus_goal"]
    history: int = 3
    """Inputs of each signal that an MLP sees, now included, newest first."""
    input_order: Literal["errors_velocities", "velocities_errors"] = "errors_velocities"
    activation: Activation = "softsign"
    error_scale: float = 1.0
    """Multiplies errors [rad] before they enter."""
    velocity_scale: float = 1.0
    torque_scale: float = 1.0
    """Multiplies the output; then it is [N·m]."""


def unitree_go1(file: str = "unitree_go1_mlp.npz") -> MotorNetwork:
    """Unitree Go1, from walk-these-ways; its period may have been 20 ms instead."""
    return MotorNetwork(
        file=file, form="mlp", period=0.005, error="position_minus_goal"
    )


def anydrive_v3(file: str = "anydrive_v3_lstm.npz") -> MotorNetwork:
    """ANYdrive v3 of ANYmal C, from legged_gym."""
    return MotorNetwork(
        file=file,
        form="lstm",
        period=0.005,
        error="goal_minus_position",
        error_scale=2.0,
        velocity_scale=0.25,
        torque_scale=20.0,
    )


@final
class DriveWeights:
    """Weights of a learned drive, ready to run at a timestep."""

    def __init__(self, motor: MotorNetwork, *, timestep: float, folder: Path) -> None:
        self.motor = motor
        self.stride = _count_steps(motor, timestep)
        path = folder / motor.file
        arrays = read_arrays(path)
        try:
            layers = sort_layers(arrays, motor.form)
        except KeyError as error:
            raise BadFile(
                path,
                f"it has no array {error}, which an {motor.form} needs.",
                hint=f"It has: {', '.join(arrays)}.",
            ) from None
        self._layers = layers
        self._cache: dict[object, list[tuple[Array, ...]]] = {}
        inputs = layers[0][0].shape[1]
        expected = 2 * motor.history if motor.form == "mlp" else 2
        if inputs != expected:
            raise BadFile(
                path, f"the network has {inputs} inputs; its description {expected}."
            )

    def start(self, error: Array, velocity: Array) -> State:
        """Memory after a lasting error and velocity (worlds,); an LSTM's is empty."""
        xp = api.array_namespace(velocity)
        if self.motor.form == "mlp":
            pair = self._scale(error, velocity)
            slot_count = (self.motor.history - 1) * self.stride + 1
            return {"network_inputs": xp.tile(pair, (1, slot_count))}
        size = len(self._layers[:-1]) * self._layers[0][1].shape[1]
        memory = zeros((velocity.shape[0], size), velocity)
        column = zeros((velocity.shape[0], 1), velocity)
        return {"hidden": memory, "cell": memory, "held": column, "wait": column}

    def step(self, error: Array, velocity: Array, state: State) -> tuple[Array, State]:
        """Torque [N·m] (worlds,) for goal − position [rad], and the new memory."""
        if self.motor.form == "mlp":
            return self._step_mlp(error, velocity, state)
        return self._step_lstm(error, velocity, state)

    def _step_mlp(
        self, error: Array, velocity: Array, state: State
    ) -> tuple[Array, State]:
        xp = api.array_namespace(velocity)
        history = state["network_inputs"]
        kept = xp.reshape(history, (velocity.shape[0], -1, 2))
        kept = shift_in(self._scale(error, velocity), kept)
        seen = kept[:, :: self.stride, :]
        parts = [seen[:, :, 0], seen[:, :, 1]]
        if self.motor.input_order == "velocities_errors":
            parts.reverse()
        layers = self._layers_like(velocity)
        out = forward_mlp(xp.concat(parts, axis=1), layers, self.motor.activation)
        torque = out[:, 0] * self.motor.torque_scale
        return torque, {"network_inputs": xp.reshape(kept, history.shape)}

    def _step_lstm(
        self, error: Array, velocity: Array, state: State
    ) -> tuple[Array, State]:
        inputs = self._scale(error, velocity)
        layers = self._layers_like(velocity)
        out, hidden, cell = forward_lstm(inputs, layers, state["hidden"], state["cell"])
        torque = out * self.motor.torque_scale
        due = state["wait"][:, 0] < 0.5
        torque = select(due, torque, state["held"])
        updates = {
            "hidden": select(due, hidden, state["hidden"]),
            "cell": select(due, cell, state["cell"]),
            "held": torque,
            "wait": select(
                due, 0.0 * torque + (self.stride - 1.0), state["wait"] - 1.0
            ),
        }
        return torque[:, 0], updates

    def _scale(self, error: Array, velocity: Array) -> Array:
        xp = api.array_namespace(velocity)
        sign = 1.0 if self.motor.error == "goal_minus_position" else -1.0
        scaled = sign * self.motor.error_scale * error
        return xp.stack([scaled, self.motor.velocity_scale * velocity], axis=1)

    def _layers_like(self, like: Array) -> list[tuple[Array, ...]]:
        key = (api.array_namespace(like), like.dtype, api.device(like))
        if key not in self._cache:
            self._cache[key] = [
                tuple(constant(array, like) for array in layer)
                for layer in self._layers
            ]
        return self._cache[key]


def forward_mlp(
    inputs: Array, layers: list[tuple[Array, ...]], activation: Activation
) -> Array:
    """Output (rows, outputs) of fully connected layers of (weight, bias)."""
    for weight, bias in layers[:-1]:
        inputs = _activate(inputs @ weight.T + bias, activation)
    weight, bias = layers[-1]
    return inputs @ weight.T + bias


def forward_lstm(
    inputs: Array, layers: list[tuple[Array, ...]], hidden: Array, cell: Array
) -> tuple[Array, Array, Array]:
    """One step of a stacked LSTM: output (rows, outputs), hidden and cell (rows, all).

    `layers` are (input weight, hidden weight, bias) from the bottom up, then a linear
    (weight, bias); `hidden` and `cell` have the layers side by side.
    """
    xp = api.array_namespace(inputs)
    units = layers[0][1].shape[1]
    new_hidden, new_cell = [], []
    for index, (from_below, from_before, bias) in enumerate(layers[:-1]):
        own = slice(index * units, (index + 1) * units)
        gates = inputs @ from_below.T + hidden[:, own] @ from_before.T + bias
        i, f, g, o = (gates[:, n * units : (n + 1) * units] for n in range(4))
        c = _sigmoid(f) * cell[:, own] + _sigmoid(i) * xp.tanh(g)
        inputs = _sigmoid(o) * xp.tanh(c)
        new_hidden.append(inputs)
        new_cell.append(c)
    weight, bias = layers[-1]
    out = inputs @ weight.T + bias
    return out, xp.concat(new_hidden, axis=1), xp.concat(new_cell, axis=1)


def _activate(x: Array, activation: Activation) -> Array:
    xp = api.array_namespace(x)
    match activation:
        case "softsign":
            return x / (1.0 + xp.abs(x))
        case "elu":
            return xp.where(x > 0.0, x, xp.expm1(xp.clip(x, max=0.0)))
        case "relu":
            return xp.clip(x, min=0.0)
        case "tanh":
            return xp.tanh(x)


def _sigmoid(x: Array) -> Array:
    xp = api.array_namespace(x)
    return 0.5 * (1.0 + xp.tanh(0.5 * x))  # no overflow


def _count_steps(motor: MotorNetwork, timestep: float) -> int:
    """Physics steps per period of the network; refuses what is not whole."""
    steps = motor.period / timestep
    if not math.isfinite(steps) or steps < 0.5 or abs(steps - round(steps)) > 1e-6:
        raise BadActuator(
            f"network: its period of {motor.period:g} s is not a whole number of"
            f" timesteps of {timestep:g} s.",
            hint=f"Choose a timestep of {motor.period:g} s divided by 1, 2, 3 …",
        )
    return round(steps)


def sort_layers(
    arrays: dict[str, np.ndarray], form: str
) -> list[tuple[np.ndarray, ...]]:
    """Weights from the input to the output."""
    if form == "mlp":
        numbers = sorted(int(k.split(".")[0]) for k in arrays if k.endswith(".weight"))
        return [(arrays[f"{n}.weight"], arrays[f"{n}.bias"]) for n in numbers]
    layers: list[tuple[np.ndarray, ...]] = []
    while not layers or f"lstm.weight_ih_l{len(layers)}" in arrays:
        n = len(layers)
        bias = arrays[f"lstm.bias_ih_l{n}"] + arrays[f"lstm.bias_hh_l{n}"]
        weights = arrays[f"lstm.weight_ih_l{n}"], arrays[f"lstm.weight_hh_l{n}"]
        layers.append((*weights, bias))
    return [*layers, (arrays["linear.weight"], arrays["linear.bias"])]
