"""Effects that MuJoCo computes by itself, once their fields are written.

Play and springs are joints of their own, drag is a damping that grows with speed, and a
cable is a joint's spring: nothing has to be done between substeps.
"""

import numpy as np
from numpy.typing import NDArray

from realworthy.diagnosis.suspects import Case, Slot
from realworthy.simulators import MujocoCpu
from realworthy.twins.structure import flex_joint, play_joint

Floats = NDArray[np.float64]
STRUCTURAL = ("backlash", "flexibility")
"""Effects that are joints of their own."""
_OF_LINKS = ("drag", "cable")
"""Effects on a link; native where the link is not behind a play or a spring."""
_FIELDS = ("dof_dampingpoly", "jnt_stiffness", "qpos_spring")


class NativeEffects:
    """Writes effects into the fields of a simulator's worlds, after e was written."""

    def __init__(self, simulator: MujocoCpu) -> None:
        self._simulator, self._model = simulator, simulator.bound.model
        nominal = simulator.bound.compiled.nominal
        for name in _FIELDS:
            if name not in simulator.bound.fields:
                simulator.expand(name)[:] = nominal(name)

    def takes(self, slot: Slot) -> bool:
        """Whether this effect of this joint can be written into fields."""
        if slot.effect in STRUCTURAL:
            return True
        names = {self._model.joint(j).name for j in range(self._model.njnt)}
        behind = {play_joint(slot.joint), flex_joint(slot.joint)} & names
        return slot.effect in _OF_LINKS and not behind

    def write(self, world: int, slot: Slot, case: Case) -> None:
        """Puts one number of a case into one world."""
        value = case.effects[slot]
        if slot.number == "backlash.width":
            place = self._model.joint(play_joint(slot.joint)).id
            self._expand("jnt_range")[world, place] = (-value / 2, value / 2)
        elif slot.number == "flexibility.stiffness":
            place = self._model.joint(flex_joint(slot.joint)).id
            self._expand("jnt_stiffness")[world, place] = value
        elif slot.number == "flexibility.damping":
            self._expand("dof_damping")[world, self._dof(flex_joint(slot.joint))] = (
                value
            )
        elif slot.number == "drag.coefficient":
            poly = self._expand("dof_dampingpoly")
            poly[world, self._dof(slot.joint), 0] += value
        elif slot.number == "cable.stiffness":
            rest = case.effects[Slot("cable.rest", slot.joint)]
            self._add_spring(world, slot.joint, value, rest)

    def _add_spring(
        self, world: int, joint: str, stiffness: float, rest: float
    ) -> None:
        """A second spring beside the one that the joint may have."""
        own = self._model.joint(joint)
        place, q = own.id, int(own.qposadr[0])
        springs, rests = self._expand("jnt_stiffness"), self._expand("qpos_spring")
        had = float(springs[world, place])
        total = had + stiffness
        if total > 0:
            pull = had * float(rests[world, q]) + stiffness * rest
            springs[world, place], rests[world, q] = total, pull / total

    def _dof(self, joint: str) -> int:
        return int(self._model.joint(joint).dofadr[0])

    def _expand(self, name: str) -> Floats:
        return self._simulator.expand(name)
