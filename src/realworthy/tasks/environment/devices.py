"""Where tensors of worlds live, how many threads work on them, and CUDA graphs.

A step of a task is a few hundred small kernels, and starting each costs more than
running it. Recorded as a CUDA graph they start as one. A graph reads and writes the
same memory every time, so whatever objects remember between two steps is kept in place:
after the work, each new tensor is copied into the one it follows.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.simulators import Simulator

FEW_WORLDS = 2048
"""Up to so many, waking a second thread for each small operation costs more than it
gives; it also keeps a core from the physics while it waits for the next one."""


def find_device(name: str | torch.device) -> torch.device:
    """`cpu`, `cuda` or `cuda:1` as torch knows it; raises where there is none."""
    there = list_devices()
    if str(name) not in there:
        hint = f"There are: {', '.join(there)}."
        if len(there) == 1:
            hint = (
                "There is: cpu. For cuda, a GPU and a PyTorch that sees it are needed."
            )
        raise RealworthyError(f"There is no device '{name}'.", hint=hint)
    return torch.device(name)


def list_devices() -> tuple[str, ...]:
    """All that worlds can be stepped on here."""
    count = torch.cuda.device_count()
    numbered = tuple(f"cuda:{i}" for i in range(count))
    return ("cpu", *(("cuda", *numbered) if count else ()))


@contextmanager
def spare_threads(world_count: int) -> Iterator[None]:
    """PyTorch works on one thread here where worlds are few; physics on all it has."""
    before = torch.get_num_threads()
    if world_count <= FEW_WORLDS:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


T = TypeVar("T")
_LIBRARIES = {
    "numpy",
    "torch",
    "mujoco",
    "mujoco_warp",
    "warp",
    *sys.stdlib_module_names,
}
_WARM = 3
"""Times that work runs as it is before it is recorded."""


class Recorded(Generic[T]):
    """`work`, whose memory is the tensors that a holder holds, or others for it.

    It runs as it is a few times, then it is recorded. What it returns is overwritten by
    the next call.
    """

    def __init__(
        self, work: Callable[[], T], memory: "StaticBuffers", generator: torch.Generator
    ) -> None:
        self._work, self._memory, self._generator = work, memory, generator
        self._replaced: dict[tuple[int, str], Place] = {}
        self._calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._result: T | None = None

    def __call__(self) -> T:
        if self._graph is None:
            self._calls += 1
            if self._calls <= _WARM:
                return self._run()
            self._record()
        assert self._graph is not None
        assert self._result is not None
        self._graph.replay()
        return self._result

    def _run(self) -> T:
        """As it is, taking note of what it replaces."""
        before = self._memory.find()
        result = self._work()
        for place in before:
            if place.look() is not place.tensor:
                self._replaced[place.key] = place
        return result

    def _record(self) -> None:
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self._generator)
        self._memory.own(self._replaced.values())
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            self._result = self._work()
            self._memory.put_back()
        self._graph = graph


@dataclass(frozen=True, slots=True)
class Place:
    """A tensor, whose it is and by which name."""

    holder: object
    name: str
    tensor: Tensor

    @property
    def key(self) -> tuple[int, str]:
        return id(self.holder), self.name

    def look(self) -> Tensor:
        """What is there now."""
        return getattr(self.holder, self.name)


class StaticBuffers:
    """Places that keep their tensor: what comes in its place is copied into it."""

    def __init__(self, holder: object) -> None:
        self._holder = holder
        self._owned: dict[tuple[int, str], Place] = {}

    def find(self) -> list[Place]:
        """Every tensor that the holder has, or an object of ours below it."""
        return [
            Place(one, name, value)
            for one in _walk(self._holder)
            for name, value in vars(one).items()
            if isinstance(value, Tensor)
        ]

    def check(self, tensors: Mapping[str, Tensor]) -> None:
        """Refuses tensors that are kept where they would not be found."""
        found = {id(place.tensor) for place in self.find()}
        hidden = [name for name, x in tensors.items() if id(x) not in found]
        if hidden:
            raise RealworthyError(
                f"Recorded steps would not move {', '.join(hidden)}: such a tensor must"
                " be an attribute, of the task or of an object that the task holds.",
                hint="Keep it as one, not in a list or dict; or pass recorded=False.",
            )

    def own(self, places: Iterable[Place]) -> None:
        """Gives each place a tensor of its own, with what is there now, for good."""
        for place in places:
            if place.key not in self._owned:
                tensor = place.look().clone()
                setattr(place.holder, place.name, tensor)
                self._owned[place.key] = Place(place.holder, place.name, tensor)

    def put_back(self) -> None:
        """Copies what has come into each place into its tensor, and puts it back."""
        kept = {id(place.tensor) for place in self._owned.values()}
        moved = []
        for place in self._owned.values():
            new = place.look()
            if new is not place.tensor:
                if id(new) in kept:  # the value of another place, which may go first
                    new = new.clone()
                moved.append((place, new))
        for place, new in moved:
            place.tensor.copy_(new)
            setattr(place.holder, place.name, place.tensor)


def _walk(holder: object) -> Iterator[object]:
    """The object and those below it, each once; simulators and libraries' are apart."""
    waiting, seen = [holder], set()
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [value for value in vars(one).values() if _is_walked(value)]


def _is_walked(value: object) -> bool:
    """Objects of ours and of users, whose tasks are modules of their own."""
    if isinstance(value, Simulator | type) or not hasattr(value, "__dict__"):
        return False
    return type(value).__module__.partition(".")[0] not in _LIBRARIES
