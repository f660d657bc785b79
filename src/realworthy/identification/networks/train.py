"""Training a drive's network from torque-labelled runs; needs torch.

After Hwangbo et al. 2019 (an MLP on a short history) and legged_gym (an LSTM). What
comes out runs without torch, in `actuators.network`.
"""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from realworthy.actuators import MotorNetwork
from realworthy.errors import BadRecording, MissingExtra
from realworthy.identification.networks.drive import LearnedDrive
from realworthy.identification.networks.runs import DriveRun
from realworthy.residuals.envelope import surround

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scales:
    """Fixed numbers that bring inputs and output to about one."""

    error: float
    velocity: float
    torque: float

    @classmethod
    def of(cls, runs: Sequence[DriveRun]) -> "Scales":
        def rms(values: list[Floats]) -> float:
            return max(float(np.sqrt(np.mean(np.concatenate(values) ** 2))), 1e-9)

        return cls(
            1 / rms([run.error for run in runs]),
            1 / rms([run.velocity for run in runs]),
            rms([run.torque for run in runs]),
        )

    def inputs(self, run: DriveRun) -> Floats:
        """(rows, 2)"""
        return np.stack([self.error * run.error, self.velocity * run.velocity], axis=1)


def make_histories(
    run: DriveRun, scales: Scales, *, period: float, history: int
) -> tuple[Floats, Floats]:
    """(rows, 2 · history) errors then velocities, newest first; (rows, 1) torques."""
    stride = _count_rows(run, period)
    first = (history - 1) * stride
    rows = np.arange(first, len(run.torque))
    back = rows[:, None] - stride * np.arange(history)
    inputs = scales.inputs(run)[back]
    flat = np.concatenate([inputs[..., 0], inputs[..., 1]], axis=1)
    return flat, run.torque[rows, None] / scales.torque


def make_windows(
    run: DriveRun, scales: Scales, *, period: float, window: int
) -> tuple[Floats, Floats]:
    """(windows, steps, 2) and (windows, steps, 1), half a window apart."""
    stride = _count_rows(run, period)
    span = window * stride
    starts = np.arange(0, len(run.torque) - span + 1, max(1, span // 2))
    if not len(starts):
        raise BadRecording(
            f"Run '{run.name}' is shorter than a window of {window} steps.",
            hint="Choose a shorter window.",
        )
    rows = starts[:, None] + stride * np.arange(window)
    return scales.inputs(run)[rows], run.torque[rows, None] / scales.torque


def split_runs(
    runs: Sequence[DriveRun], *, share: float, seed: int
) -> tuple[list[DriveRun], list[DriveRun]]:
    """Runs to train on, and whole runs, a `share` of all, that stop the training."""
    order = np.random.default_rng(seed).permutation(len(runs))
    count = min(max(1, round(share * len(runs))), len(runs) - 1)
    return [runs[i] for i in order[count:]], [runs[i] for i in order[:count]]


def _count_rows(run: DriveRun, period: float) -> int:
    rows = period / run.timestep
    if rows < 0.5 or abs(rows - round(rows)) > 1e-3:
        raise BadRecording(
            f"The network's period of {period:g} s is not a whole number of rows of run"
            f" '{run.name}' ({run.timestep:g} s).",
            hint="Read the runs at another rate, or choose another period.",
        )
    return round(rows)


_MARGIN = 1.2
"""Torque limit of the network over the largest torque that was measured."""


@dataclass(kw_only=True, slots=True)
class NetworkSettings:
    """Shape of a network and how it is trained."""

    form: Literal["mlp", "lstm"] = "mlp"
    period: float = 0.01
    """[s] between the inputs of an MLP's history, or the steps of an LSTM."""
    history: int = 3
    """Of an MLP."""
    hidden: tuple[int, ...] = (32, 32, 32)
    """Units of an MLP's layers."""
    lstm_units: int = 8
    lstm_layers: int = 2
    window: int = 100
    """Steps of an LSTM's training sequences; the first fifth is not judged."""
    epochs: int = 200
    batch: int = 384
    """Rows of an MLP; an LSTM takes a sixteenth of it as sequences. Few rows, many
    steps: with 1,024 rows an MLP was far from its end after sixty epochs."""
    learning_rate: float = 3e-3
    patience: int = 40
    """Epochs without a better validation error after which training stops."""
    validation_share: float = 0.2
    """Of the runs, whole ones, that stop the training."""
    seed: int = 0


def fit_network(
    runs: Sequence[DriveRun], settings: NetworkSettings | None = None
) -> LearnedDrive:
    """A network from error and velocity to torque, and the envelope of its inputs."""
    settings = settings or NetworkSettings()
    _check_torch()
    if len(runs) < 2:
        raise BadRecording(
            f"A network needs two runs or more, not {len(runs)}: whole runs decide when"
            " its training stops.",
            hint="Record another motion, or cut this one with crop.",
        )
    training, validation = split_runs(
        runs, share=settings.validation_share, seed=settings.seed
    )
    scales = Scales.of(training)
    if settings.form == "mlp":
        weights, error = _train_mlp(training, validation, scales, settings)
    else:
        weights, error = _train_lstm(training, validation, scales, settings)
    seen = [np.stack([run.error, run.velocity], axis=1) for run in runs]
    return LearnedDrive(
        motor=MotorNetwork(
            file="",
            form=settings.form,
            period=settings.period,
            error="goal_minus_position",
            history=settings.history,
            error_scale=scales.error,
            velocity_scale=scales.velocity,
            torque_scale=scales.torque,
        ),
        weights=weights,
        envelope=surround(np.concatenate(seen)),
        torque_limit=_MARGIN * max(float(np.abs(run.torque).max()) for run in runs),
        validation_error=error,
        run_names=tuple(run.name for run in runs),
    )


def _train_mlp(
    training: Sequence[DriveRun],
    validation: Sequence[DriveRun],
    scales: Scales,
    settings: NetworkSettings,
) -> tuple[dict[str, Floats], float]:
    import torch
    from torch import nn

    torch.manual_seed(settings.seed)
    sizes = [2 * settings.history, *settings.hidden]
    layers: list[nn.Module] = []
    for below, above in pairwise(sizes):
        layers += [nn.Linear(below, above), nn.Softsign()]
    network = nn.Sequential(*layers, nn.Linear(sizes[-1], 1))
    rows = partial(
        make_histories, scales=scales, period=settings.period, history=settings.history
    )
    x, y = _join([rows(run) for run in training])
    x_out, y_out = _join([rows(run) for run in validation])
    best = _descend(
        network,
        lambda batch: nn.functional.mse_loss(network(x[batch]), y[batch]),
        lambda: nn.functional.mse_loss(network(x_out), y_out),
        row_count=len(x),
        batch=settings.batch,
        settings=settings,
    )
    return _arrays(network), scales.torque * best


def _train_lstm(
    training: Sequence[DriveRun],
    validation: Sequence[DriveRun],
    scales: Scales,
    settings: NetworkSettings,
) -> tuple[dict[str, Floats], float]:
    import torch
    from torch import nn

    torch.manual_seed(settings.seed)
    lstm = nn.LSTM(
        2, settings.lstm_units, num_layers=settings.lstm_layers, batch_first=True
    )
    linear = nn.Linear(settings.lstm_units, 1)
    network = nn.ModuleDict({"lstm": lstm, "linear": linear})
    rows = partial(
        make_windows, scales=scales, period=settings.period, window=settings.window
    )
    x, y = _join([rows(run) for run in training])
    x_out, y_out = _join([rows(run) for run in validation])
    judged = settings.window // 5

    def loss(inputs: "torch.Tensor", wanted: "torch.Tensor") -> "torch.Tensor":
        out = linear(lstm(inputs)[0])
        return nn.functional.mse_loss(out[:, judged:], wanted[:, judged:])

    best = _descend(
        network,
        lambda batch: loss(x[batch], y[batch]),
        lambda: loss(x_out, y_out),
        row_count=len(x),
        batch=max(1, settings.batch // 16),
        settings=settings,
    )
    return _arrays(network), scales.torque * best


def _descend(
    network: "torch.nn.Module",
    loss: "Callable[[torch.Tensor], torch.Tensor]",
    judge: "Callable[[], torch.Tensor]",
    *,
    row_count: int,
    batch: int,
    settings: NetworkSettings,
) -> float:
    """Adam with a falling rate; leaves the best weights, returns their rms error."""
    import torch

    optimiser = torch.optim.Adam(
        network.parameters(), lr=settings.learning_rate, fused=True
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, settings.epochs)
    best, kept, waited = float("inf"), network.state_dict(), 0
    for _ in range(settings.epochs):
        for rows in torch.randperm(row_count).split(batch):
            optimiser.zero_grad()
            loss(rows).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
        schedule.step()
        with torch.no_grad():
            error = float(judge())
        waited += 1
        if error < best:
            best, waited = error, 0
            kept = {k: v.detach().clone() for k, v in network.state_dict().items()}
        if waited >= settings.patience:
            break
    network.load_state_dict(kept)
    return best**0.5


def _join(
    pairs: list[tuple[Floats, Floats]],
) -> "tuple[torch.Tensor, torch.Tensor]":
    import torch

    inputs, wanted = (np.concatenate(part) for part in zip(*pairs, strict=True))
    return (
        torch.as_tensor(inputs, dtype=torch.float32),
        torch.as_tensor(wanted, dtype=torch.float32),
    )


def _arrays(network: "torch.nn.Module") -> dict[str, Floats]:
    """PyTorch's names to plain arrays."""
    return {
        name: weight.detach().numpy().astype(np.float64)
        for name, weight in network.named_parameters()
    }


def _check_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        raise MissingExtra("torch", "train", need="Training a network")
