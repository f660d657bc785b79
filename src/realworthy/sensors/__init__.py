"""Sensors: what stands between a true signal and the number that a robot reports.

Here live the measuring law, step by step (`stages`): delay, filter, scale, bias, noise,
quantisation, lost readings, on numpy arrays and torch tensors alike, many worlds at a
time. Tasks, realities, certification and the live view measure by it; `Sensor`
describes one signal's numbers, and `SensorLaw` runs the description.
Not here: MuJoCo's own sensors (`twins`), numbers believed about a sensor
(`parameters`), faults of the interface such as swapped joints (`recordings`,
`realities`), random numbers (the caller draws them, so that results repeat by seed).
This room imports `parameters`, `artefacts` and `errors` only; no mujoco, no torch.
"""

from realworthy.sensors.law import SensorDraws, SensorLaw, State, build_law
from realworthy.sensors.sensor import KINDS, BadSensor, Sensor

__all__ = [
    "KINDS",
    "BadSensor",
    "Sensor",
    "SensorDraws",
    "SensorLaw",
    "State",
    "build_law",
]
