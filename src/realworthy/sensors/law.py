"""The law of a described sensor: the true signal in, readings out, as `stages` says.

    reading = round_to_quantum(scale · filtered(true(t − delay)) + bias + noise · n)

A new reading is due `rate` times a second, the first at once; a due reading is lost
with probability `dropout`. Between readings the last one stands, so a policy sees what
a robot would tell it: late, coarse and sometimes stale. The signal is kept every
timestep; `linear` joins the kept values by straight lines, `hold` takes the newest that
is at least `delay` old.

Chance comes from outside, as standard normal and uniform draws, so that equal draws
give equal readings on any device. Rows are independent: signals with equal `structure`
can be stacked as rows of one call.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias, final

import array_api_compat as api

from realworthy.errors import UnknownParameter
from realworthy.sensors.sensor import (
    BadSensor,
    Sensor,
    check_delay,
    check_number,
)
from realworthy.sensors.stages import (
    Array,
    compute_reading,
    fill,
    follow,
    hold,
    quantise,
    recall,
    remember,
)

State: TypeAlias = dict[str, Array]
"""What a sensor remembers between timesteps: name → (worlds, k)."""

SLACK = 1e-4
"""Of a timestep or a period, for floats that say a bit more or less than they mean."""


class SensorDraws(NamedTuple):
    """Chance for one timestep, each (worlds,)."""

    normal: Array
    """Mean 0, standard deviation 1."""
    uniform: Array
    """From 0 to 1."""


@final
class SensorLaw:
    """Runs a `Sensor` at a fixed timestep; made by `build_law`."""

    def __init__(self, sensor: Sensor, *, timestep: float) -> None:
        self.sensor = sensor
        self.timestep = timestep
        self.parameters: dict[str, float] = sensor.parameters()
        """Nominal numbers by kind; any of them may be given per world."""
        self._limit = sensor.get_delay_limit()
        self._slot_count = max(math.ceil(self._limit / timestep - SLACK), 0) + 1
        self._nominal: dict[object, dict[str, Array]] = {}

    @property
    def structure(self) -> tuple[object, ...]:
        """Equal for laws that differ only in signal and numbers."""
        kept = (self._limit, self.sensor.interpolation)
        return (self.timestep, *kept, tuple(self.parameters))

    def initial_state(self, world_count: int, like: Array) -> State:
        """State after the signal was zero for long, in arrays of the kind of `like`."""
        xp = api.array_namespace(like)
        device = api.device(like)
        return self._start(xp.zeros(world_count, dtype=like.dtype, device=device))

    def prime(self, state: State, true: Array, *, worlds: Array | None = None) -> State:
        """State as after a reset, the signal having been `true` (worlds,) for long.

        `worlds` (worlds,) of bool keeps the others as they were. Until a first reading
        arrives, a world whose readings are lost sees `true` itself.
        """
        fresh = self._start(true)
        if worlds is None:
            return fresh
        xp = api.array_namespace(true)
        rows = worlds[:, None]
        return {name: xp.where(rows, fresh[name], state[name]) for name in state}

    def measure(
        self,
        true: Array,
        parameters: Mapping[str, Array],
        draws: SensorDraws,
        state: State,
    ) -> tuple[Array, State]:
        """What is read now (worlds,), and the new state.

        `parameters` holds (worlds,) arrays for kinds that are not nominal, as
        `check_parameters` admits them; a delay beyond the limit gives NaN.
        """
        xp = api.array_namespace(true)
        numbers = self._nominal_like(true)
        for kind, value in parameters.items():
            numbers[kind] = xp.astype(value, true.dtype, copy=False)
        history = remember(state["history"], true)
        late = self._recall(history, numbers["delay"])
        filtered = self._filter(state["filtered"][:, 0], late, numbers["filter"])
        reading = compute_reading(
            filtered,
            scale=numbers["scale"],
            bias=numbers["bias"],
            noise=[numbers["noise"] * draws.normal],
        )
        reading = quantise(reading, numbers["quantum"])

        phase = state["phase"][:, 0]
        due = phase >= 1.0 - SLACK
        arrives = due & (draws.uniform >= numbers["dropout"])
        reading = hold(arrives, reading, state["reading"][:, 0])
        if "rate" in numbers:
            excess = xp.where(xp.abs(phase - 1.0) < SLACK, 0.0, phase - 1.0)
            phase = xp.where(due, excess, phase) + numbers["rate"] * self.timestep
            phase = xp.clip(phase, max=2.0)  # faster than time: always due
        updates = {"filtered": filtered, "reading": reading, "phase": phase}
        columns = {name: value[:, None] for name, value in updates.items()}
        return reading, {"history": history, **columns}

    def check_parameters(self, parameters: Mapping[str, Array]) -> None:
        """Raises for a kind that this law lacks, or a number that no world may have."""
        signal = self.sensor.signal
        for kind, values in parameters.items():
            if kind not in self.parameters:
                owner = f"sensor of '{signal}'"
                raise UnknownParameter(kind, self.parameters, owner=owner)
            xp = api.array_namespace(values)
            least, most = float(xp.min(values)), float(xp.max(values))
            check_number(kind, least, signal=signal)
            check_number(kind, most, signal=signal)
            if kind == "delay":
                check_delay(most, self._limit, signal=signal)

    def _start(self, true: Array) -> State:
        column = true[:, None]
        return {
            "history": fill(true, self._slot_count),
            "filtered": 1.0 * column,
            "reading": 1.0 * column,
            "phase": 0.0 * column + 1.0,
        }

    def _recall(self, history: Array, delay: Array) -> Array:
        """The signal of `delay` ago (worlds,), from values newest first."""
        xp = api.array_namespace(history)
        steps = xp.broadcast_to(delay, history.shape[:1]) / self.timestep
        outside = (steps < -SLACK) | (steps > self._limit / self.timestep + SLACK)
        steps = xp.clip(steps, min=0.0, max=self._slot_count - 1.0)
        if self.sensor.interpolation == "hold":
            steps = xp.ceil(steps - SLACK)
        newer = xp.floor(steps)
        older = xp.clip(newer + 1.0, max=self._slot_count - 1.0)
        first, second = (
            recall(history, xp.astype(age, xp.int64)) for age in (newer, older)
        )
        late = first + (steps - newer) * (second - first)
        return xp.where(outside, math.nan, late)

    def _filter(self, last: Array, late: Array, time_constant: Array) -> Array:
        """The delayed signal after its low pass; the same where it has none."""
        xp = api.array_namespace(late)
        tau = xp.where(time_constant > 0.0, time_constant, 1.0)
        filtered = follow(last, late, 1.0 - xp.exp(-self.timestep / tau))
        return xp.where(time_constant > 0.0, filtered, late)

    def _nominal_like(self, like: Array) -> dict[str, Array]:
        """Nominal numbers without dimensions, made once per dtype and device."""
        xp, device = api.array_namespace(like), api.device(like)
        key = (xp, like.dtype, device)
        if key not in self._nominal:
            self._nominal[key] = {
                kind: xp.asarray(value, dtype=like.dtype, device=device)
                for kind, value in self.parameters.items()
            }
        return dict(self._nominal[key])


def build_law(sensor: Sensor, *, timestep: float) -> SensorLaw:
    """The law of `sensor` when the signal is offered every `timestep` [s]."""
    if not 0.0 < timestep < math.inf:
        raise BadSensor(f"timestep is {timestep:g} s.", hint="It must be above 0 s.")
    return SensorLaw(sensor, timestep=timestep)
