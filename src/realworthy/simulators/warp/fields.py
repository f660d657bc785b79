"""Model fields that differ between the worlds of MuJoCo Warp."""

from collections.abc import Iterable

import mujoco
import mujoco_warp as mjw
import numpy as np
import warp as wp
from numpy.typing import NDArray

from realworthy.errors import RealworthyError, UnknownName
from realworthy.simulators.warp.arrays import WarpArray, alias
from realworthy.simulators.warp.kernels import scatter_rows
from realworthy.twins import BoundTwin
from realworthy.twins.compiled_model import OWN_PREFIX
from realworthy.twins.space import writer_of

Floats = NDArray[np.float64]
_ON_DEVICE = ("own.push", "own.initial_qpos", "own.initial_qvel", "own.law.")
"""Fields of ours that kernels or laws read."""


class WorldFields:
    """Every field that a bound twin moves, with what MuJoCo derives from them.

    A field lives on the device as 32-bit floats, one row for each world. Those of ours
    that only the host reads, such as sensor noise, live there in 64 bits.
    """

    def __init__(
        self, bound: BoundTwin, world_count: int, *, also: Iterable[str] = ()
    ) -> None:
        check_movable(bound)
        self._bound, self._count = bound, world_count
        moved = [n for n in bound.fields if not n.startswith(OWN_PREFIX)]
        derived = _derived(bound) if bound.needs_constants else []
        self._expanded = tuple(dict.fromkeys((*moved, *derived, *also)))
        self._host = {
            name: self._repeat(name)
            for name in bound.fields
            if name.startswith(OWN_PREFIX)
        }
        self._flat: dict[str, WarpArray] = {}
        for name in bound.compiled.own:
            if name.startswith(_ON_DEVICE) and (
                name in bound.fields or name.startswith("own.initial")
            ):
                self._flat[name] = self._place(name)

    def build_model(self) -> mjw.Model:
        """The model on the device, with room for each world's own values."""
        sizes = {n: self._count for n in self._expanded if not n.startswith("opt.")}
        model = mjw.put_model(self._bound.model, batch_sizes=sizes)
        for name in self._expanded:
            if name.startswith("opt."):
                self._flat[name] = self._place(name)
                old = getattr(model.opt, name[4:])
                shaped = alias(self._flat[name], old.dtype, (self._count,))
                shaped._is_batched = True  # as put_model marks its own
                setattr(model.opt, name[4:], shaped)
            else:
                array = getattr(model, name)
                width = self._bound.compiled.nominal(name).size
                self._flat[name] = alias(array, wp.float32, (self._count, width))
        return model

    def write(self, ids: NDArray[np.intp], samples: Floats) -> None:
        """Puts (n, d) samples into n worlds, in one transfer."""
        nominal = self._bound.compiled.nominal
        rows = {
            name: np.empty((len(ids), *np.shape(nominal(name))))
            for name in self._bound.fields
        }
        self._bound.write(rows, slice(None), samples)
        for name, values in self._host.items():
            values[ids] = rows[name]
        moved = [name for name in self._bound.fields if name in self._flat]
        if not moved:
            return
        packed = np.concatenate([rows[n].reshape(len(ids), -1) for n in moved], axis=1)
        sent = wp.array(packed, dtype=wp.float32)
        worlds = wp.array(ids, dtype=wp.int32)
        first = 0
        for name in moved:
            width = self._flat[name].shape[1]
            wp.launch(
                scatter_rows,
                dim=(len(ids), width),
                inputs=[sent, worlds, first],
                outputs=[self._flat[name]],
            )
            first += width

    def read(self, name: str) -> Floats:
        """(worlds, …) values of any field, on the host."""
        if name in self._host:
            return self._host[name].copy()
        if name in self._flat:
            shape = np.shape(self._bound.compiled.nominal(name))
            return self._flat[name].numpy().astype(np.float64).reshape(-1, *shape)
        lacks = name in _constants() and not is_per_world(name)
        if self._bound.needs_constants and lacks:
            raise RealworthyError(
                f"MuJoCo Warp does not keep '{name}' for each world.",
                hint="Read it from MujocoCpu, which computes the same constants.",
            )
        try:
            return self._repeat(name)
        except (AttributeError, KeyError):
            names = {*self._flat, *self._bound.compiled.own}
            raise UnknownName(
                "field", name, names, owner="the model", hint=""
            ) from None

    def own(self, name: str, *shape: int) -> WarpArray:
        """A field of ours on the device, (worlds, *shape); a shared one is repeated."""
        if name not in self._flat:
            self._flat[name] = self._place(name)
        return alias(self._flat[name], wp.float32, (self._count, *shape))

    def _repeat(self, name: str) -> Floats:
        nominal = np.asarray(self._bound.compiled.nominal(name), dtype=np.float64)
        return np.repeat(nominal[None], self._count, axis=0)

    def _place(self, name: str) -> WarpArray:
        rows = self._repeat(name).reshape(self._count, -1)
        return wp.array(rows, dtype=wp.float32)


def is_per_world(name: str) -> bool:
    """Whether MuJoCo Warp can hold another value of a model field in each world."""
    owner = mjw.Option if name.startswith("opt.") else mjw.Model
    described = owner.__dataclass_fields__.get(name.removeprefix("opt."))
    return described is not None and getattr(described.type, "shape", ())[:1] == ("*",)


def check_movable(bound: BoundTwin) -> None:
    """Raises for a parameter whose field all worlds of MuJoCo Warp share."""
    for name in bound.fields:
        if name.startswith(OWN_PREFIX) or is_per_world(name):
            continue
        movers = [p.name for p in bound.space if name in _fields_of(bound, p.name)]
        raise RealworthyError(
            f"MujocoGpu cannot give each world its own '{movers[0]}': MuJoCo Warp "
            f"shares '{name}' between worlds.",
            hint="Leave it out of the space (space.without), or use MujocoCpu.",
        )


def _fields_of(bound: BoundTwin, parameter: str) -> set[str]:
    described = bound.space[parameter]
    fields: set[str] = set()
    for element in described.binding.elements:
        writer = writer_of(bound.compiled, described.kind, element)
        fields.update(writer.edit(bound.compiled, element).fields)
    return fields


def _constants() -> tuple[str, ...]:
    return tuple(mujoco.MjModel._setconst_outputs)


def _derived(bound: BoundTwin) -> list[str]:
    """What `set_const` computes and MuJoCo Warp holds per world.

    Left shared, each would hold world 0's value for all. Bounds of shapes follow from
    their sizes alone.
    """
    sizes_move = "geom_size" in bound.fields
    return [
        name
        for name in _constants()
        if is_per_world(name)
        and getattr(bound.model, name).size
        and (sizes_move or not name.startswith("geom_"))
    ]
