"""What the sensors of a reality report: truth with noise and wrong bookkeeping."""

import numpy as np
from numpy.typing import NDArray

from realworthy.parameters import Draws
from realworthy.parameters.inertia import rotation
from realworthy.realities.effects import Quantisation
from realworthy.realities.interface import Translator
from realworthy.realities.reality import RealityFile

Floats = NDArray[np.float64]
_HIDDEN = (".play", ".flex", ".slosh_x", ".slosh_y")
_JOINT_SIGNALS = ("position", "velocity", "torque")


def is_hidden(joint: str) -> bool:
    """Whether a joint is one that only the reality has."""
    return joint.endswith(_HIDDEN)


class Measuring:
    """From one row of true `sensordata` to what the robot reports."""

    def __init__(
        self, file: RealityFile, joints: tuple[str, ...], signals: list[str], seed: int
    ) -> None:
        self.file, self.seed, self.trial = file, seed, 0
        self.translator = Translator(file.interface, joints)
        places = {signal: place for place, signal in enumerate(signals)}
        self._places = {
            name: [places[f"{joint}.{name}"] for joint in joints]
            for name in _JOINT_SIGNALS
        }
        owned = {p for group in self._places.values() for p in group}
        hidden = {p for s, p in places.items() if is_hidden(s.rsplit(".", 1)[0])}
        free = [(s, p) for s, p in places.items() if p not in owned | hidden]
        self.others = tuple(signal for signal, _ in free)
        self._other_places = [place for _, place in free]
        steps = {e.joint: e.step for e in file.effects if isinstance(e, Quantisation)}
        self._steps = np.array([steps.get(joint, 0.0) for joint in joints])
        self._turn = _rotation_matrix(file.interface.frame)
        self._other_noise = np.array([_noise_of(file, name) for name in self.others])

    def report(self, row: Floats, tick: int) -> tuple[Floats, Floats, Floats, Floats]:
        """Position, velocity and torque of the joints, and the other signals."""
        noise, translator = self.file.noise, self.translator
        true = {name: row[places] for name, places in self._places.items()}
        position = true["position"] + noise.position * self._normal("position", tick)
        velocity = true["velocity"] + noise.velocity * self._normal("velocity", tick)
        torque = true["torque"] + noise.torque * self._normal("torque", tick)
        step = np.where(self._steps > 0, self._steps, 1.0)
        position = np.where(self._steps > 0, np.round(position / step) * step, position)
        return (
            translator.report_position(position),
            translator.report_velocity(velocity),
            translator.report_torque(torque),
            self._report_others(row[self._other_places], tick),
        )

    def is_lost(self, tick: int) -> bool:
        return self._uniform("loss", tick) < self.file.interface.loss

    def is_stale(self, tick: int) -> bool:
        return self._uniform("stale", tick) < self.file.interface.stale_samples

    def jitter(self, tick: int) -> float:
        """[s] by which the coming period is longer than asked."""
        draws = Draws(self.seed, "jitter").normal(self.trial, 1, episode=tick)
        return self.file.interface.jitter * float(draws[0, 0])

    def _report_others(self, true: Floats, tick: int) -> Floats:
        draws = Draws(self.seed, "measured others")
        normal = draws.normal(self.trial, len(true), episode=tick)[0]
        values = true + self._other_noise * normal
        for prefix in _owners(self.others, "gyro"):
            places = [self.others.index(f"{prefix}.gyro.{axis}") for axis in "xyz"]
            values[places] = self._turn @ values[places]
        if self.file.interface.quaternion_order == "xyzw":
            for prefix in _owners(self.others, "orientation"):
                names = [f"{prefix}.orientation.{axis}" for axis in "wxyz"]
                places = [self.others.index(name) for name in names]
                values[places] = np.roll(values[places], -1)
        return values

    def _normal(self, stream: str, tick: int) -> Floats:
        count = len(self.translator.joints)
        draws = Draws(self.seed, f"measured {stream}")
        return draws.normal(self.trial, count, episode=tick)[0]

    def _uniform(self, stream: str, tick: int) -> float:
        draws = Draws(self.seed, stream).uniform(self.trial, 1, episode=tick)
        return float(draws[0, 0])


def _noise_of(file: RealityFile, signal: str) -> float:
    for name in ("orientation", "gyro"):
        if f".{name}." in signal:
            return getattr(file.noise, name)
    return 0.0


def _owners(signals: tuple[str, ...], name: str) -> list[str]:
    return sorted({s.split(f".{name}.")[0] for s in signals if f".{name}." in s})


def _rotation_matrix(vector: tuple[float, float, float]) -> Floats:
    angle = float(np.linalg.norm(vector))
    axis = np.array(vector) / angle if angle else np.zeros(3)
    half = angle / 2
    return rotation(np.array([np.cos(half), *(np.sin(half) * axis)]))
