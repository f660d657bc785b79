"""A network that drives a joint where it has been, and the physics that does elsewhere.

A `*.drive.yaml` holds the network, its envelope (in the arrays beside it) and the drive
as physics describes it. A twin file names it under `networks`; the physical drive is
then the twin's actuator, and its numbers stay numbers of e.
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from realworthy.actuators import Actuator, ActuatorLaw, MotorNetwork, build_law
from realworthy.artefacts import load
from realworthy.artefacts.arrays import read_arrays
from realworthy.errors import BadFile
from realworthy.residuals import Envelope
from realworthy.twins.drives.fallback import LawWithFallback

SCHEMA = 1
ENVELOPE = "envelope."
"""Prefix of the envelope's arrays."""


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
class DriveNetwork:
    """A drive file that was read; `guard` makes it run."""

    path: Path
    file: DriveFile
    envelope: Envelope

    def guard(self, physical: ActuatorLaw, *, gain: float = 1.0) -> LawWithFallback:
        """The network within its envelope, else `physical`; at its timestep.

        `gain` is that of the firmware relative to the runs of training; it multiplies
        the error that the network sees.
        """
        motor = self.file.network.motor
        assert isinstance(motor, MotorNetwork)  # `load_network` has checked
        scaled = msgspec.structs.replace(motor, error_scale=gain * motor.error_scale)
        learned = msgspec.structs.replace(self.file.network, motor=scaled)
        law = build_law(learned, timestep=physical.timestep, folder=self.path.parent)
        return LawWithFallback(law, physical, self.envelope, gain=gain)


def load_network(path: Path | str) -> DriveNetwork:
    """Reads a `*.drive.yaml` and the envelope beside it."""
    path = Path(path)
    file = load(path, DriveFile, schema=SCHEMA)
    motor = file.network.motor
    if not isinstance(motor, MotorNetwork):
        raise BadFile(path, "network.motor is not of kind network.")
    arrays = path.with_name(motor.file)
    return DriveNetwork(path=path, file=file, envelope=_read_envelope(arrays))


def _read_envelope(path: Path) -> Envelope:
    arrays = read_arrays(path)
    try:
        found = {n: arrays[ENVELOPE + n] for n in Envelope.__dataclass_fields__}
    except KeyError as error:
        raise BadFile(
            path,
            f"it has no array {error}.",
            hint="Networks from elsewhere have no envelope; use them without.",
        ) from None
    reach = float(found.pop("reach"))
    return Envelope(**found, reach=reach)
