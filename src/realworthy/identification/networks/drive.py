"""A learned drive as files: the network, its envelope, and the model that stands in."""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.actuators import Actuator, ControllerGoal, MotorNetwork, build_law
from realworthy.artefacts import check_free, load, save, writing
from realworthy.errors import BadFile
from realworthy.identification.networks.guarded import GuardedLaw
from realworthy.identification.networks.numbers import replace_numbers
from realworthy.residuals import Envelope

SCHEMA = 1
Floats = NDArray[np.float64]
_ENVELOPE = "envelope."


class DriveFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a `*.drive.yaml` holds."""

    schema: int = SCHEMA
    network: Actuator
    """The drive with a motor of kind network, as a twin file takes it."""
    physical: Actuator
    """What drives the joint where the network has not been."""
    validation_error: float
    """[N·m] rms torque error on runs that stopped the training."""
    recordings: tuple[str, ...] = ()
    """Names of the runs that it was trained on."""


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
            f"{_ENVELOPE}{name}": np.asarray(getattr(self.envelope, name))
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
) -> GuardedLaw:
    """The law of a `*.drive.yaml`: the network where it has been, else the physics.

    `gain` is that of the firmware relative to the runs of training; it multiplies the
    error that the network sees and the physical model's number `gain_kind`.
    """
    path = Path(path)
    described = load(path, DriveFile, schema=SCHEMA)
    motor = described.network.motor
    if not isinstance(motor, MotorNetwork):
        raise BadFile(path, "network.motor is not of kind network.")
    scaled = msgspec.structs.replace(motor, error_scale=gain * motor.error_scale)
    learned = msgspec.structs.replace(described.network, motor=scaled)
    network, physical = (
        build_law(actuator, timestep=timestep, folder=path.parent)
        for actuator in (learned, _with_gain(described.physical, gain, gain_kind))
    )
    envelope = _read_envelope(path.with_name(motor.file))
    return GuardedLaw(network, physical, envelope, gain=gain)


def _with_gain(actuator: Actuator, gain: float, kind: str | None) -> Actuator:
    if kind is None:
        return actuator
    return replace_numbers(actuator, {kind: gain * actuator.parameters()[kind]})


def _read_envelope(path: Path) -> Envelope:
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    try:
        found = {n: arrays[_ENVELOPE + n] for n in Envelope.__dataclass_fields__}
    except KeyError as error:
        raise BadFile(
            path,
            f"it has no array {error}.",
            hint="Networks from elsewhere have no envelope; use them without.",
        ) from None
    reach = float(found.pop("reach"))
    return Envelope(**found, reach=reach)
