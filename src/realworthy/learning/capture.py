"""Gradient steps as one CUDA graph: thousands of small kernels, launched at once."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import torch
from torch import Tensor

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

B = TypeVar("B", bound="DataclassInstance")
"""A minibatch: a dataclass of tensors, some of which may be None."""
Passes: TypeAlias = Callable[[list[B]], Tensor]
"""Takes gradient steps on minibatches; gives what they saw, added up."""


class CapturedPasses(Generic[B]):
    """Does what `run` does: plainly the first time, from then on as a graph.

    Everything that `run` reads and writes must stay where it is, and minibatches must
    keep their shapes; build another one where they do not.
    """

    def __init__(self, run: Passes[B]) -> None:
        self._run = run
        self._is_warm = False
        self._graph: torch.cuda.CUDAGraph | None = None
        self._samples: list[B] = []
        self._seen = torch.empty(0)

    def __call__(self, samples: list[B]) -> Tensor:
        if not self._is_warm:
            self._is_warm = True
            return self._run_aside(samples)
        if self._graph is None:
            self._capture(samples)
        else:
            for kept, fresh in zip(self._samples, samples, strict=True):
                _overwrite(kept, fresh)
        assert self._graph is not None
        self._graph.replay()
        return self._seen.clone()

    def _run_aside(self, samples: list[B]) -> Tensor:
        """On a stream of its own, as libraries want before they are captured."""
        here, aside = torch.cuda.current_stream(), torch.cuda.Stream()
        aside.wait_stream(here)
        with torch.cuda.stream(aside):
            seen = self._run(samples)
        here.wait_stream(aside)
        return seen

    def _capture(self, samples: list[B]) -> None:
        """Records the steps without taking them."""
        self._samples = [_clone(part) for part in samples]
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._seen = self._run(self._samples)


def _clone(samples: B) -> B:
    found = {field.name: getattr(samples, field.name) for field in fields(samples)}
    return replace(
        samples, **{name: x.clone() for name, x in found.items() if x is not None}
    )


def _overwrite(kept: B, fresh: B) -> None:
    for field in fields(kept):
        x = getattr(fresh, field.name)
        if x is not None:
            getattr(kept, field.name).copy_(x)
