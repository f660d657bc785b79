"""A learned drive as files: the network, its envelope, and the model that stands in."""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.actuators import Actuator, ControllerGoal, MotorNetwork, build_law
from realworthy.artefacts import check_free, save, writing
from realworthy.identification.networks.physical import replace_numbers
from realworthy.residuals import Envelope
from realworthy.twins.drives.fallback import LawWithFallback
from realworthy.twins.drives.networks import ENVELOPE, DriveFile, load_network

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedDrive:
    """A trained network before it is a file."""

    motor: MotorNetwork
    weights: dict[str, Floats] = field(repr=False)
    """PyTorch's names and layout."""
    envelope: Envelope = field(repr=False)
    """Of (error, velocity) as they enter, before the scales of `motor`."""
    torque_limit: float
    """[N·m] beyond what was ever measured."""
    validation_error: float
    """[N·m] rms on the runs that stopped the training."""
    run_names: tuple[str, ...]

    def save(
        self, path: Path | str, physical: Actuator, *, overwrite: bool = False
    ) -> DriveFile:
        """Writes `<name>.drive.yaml` and `<name>.drive.npz`, which a twin can use."""
        path = Path(path)
        arrays = path.with_suffix(".npz")
        check_free(path, overwrite=overwrite)
        around = {
            f"{ENVELOPE}{name}": np.asarray(getattr(self.envelope, name))
            for name in Envelope.__dataclass_fields__
        }
        with (
            writing(arrays, overwrite=overwrite) as temporary,
            temporary.open("wb") as out,
        ):
            np.savez(out, allow_pickle=False, **self.weights, **around)
        described = DriveFile(
            network=Actuator(
                joint=physical.joint,
                controller=ControllerGoal(),
                motor=msgspec.structs.replace(self.motor, file=arrays.name),
                torque_limit=self.torque_limit,
                armature=physical.armature,
            ),
            physical=physical,
            validation_error=self.validation_error,
            recordings=self.run_names,
        )
        save(path, described, overwrite=overwrite)
        return described


def load_drive(
    path: Path | str,
    *,
    timestep: float,
    gain: float = 1.0,
    gain_kind: str | None = None,
) -> LawWithFallback:
    """The law of a `*.drive.yaml`: the network where it has been, else the physics.

    `gain` is that of the firmware relative to the runs of training; it multiplies the
    error that the network sees and the physical model's number `gain_kind`.
    """
    learned = load_network(path)
    described = _with_gain(learned.file.physical, gain, gain_kind)
    physical = build_law(described, timestep=timestep, folder=Path(path).parent)
    return learned.guard(physical, gain=gain)


def _with_gain(actuator: Actuator, gain: float, kind: str | None) -> Actuator:
    if kind is None:
        return actuator
    return replace_numbers(actuator, {kind: gain * actuator.parameters()[kind]})
