"""What carries packets: sends, receives, never queues on purpose, never raises."""

import heapq
import itertools
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass

from realworthy.errors import RealworthyError


class PacketLink(ABC):
    """A way for packets; trouble on it looks like packets that do not come."""

    @property
    @abstractmethod
    def address(self) -> str:
        """Of this end, such as `udp://127.0.0.1:7000`."""

    @abstractmethod
    def send(self, data: bytes, peer: Hashable) -> None:
        """Sends to a peer; what cannot be sent is lost."""

    @abstractmethod
    def receive(self, timeout: float = 0.0) -> tuple[bytes, Hashable] | None:
        """The next packet and its sender; None where none comes in time [s]."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of it."""


@dataclass(kw_only=True, slots=True)
class LinkFaults:
    """What a bad network does to packets, both ways alike."""

    loss: float = 0.0
    """Probability that one is lost."""
    jitter: float = 0.0
    """[s] standard deviation of how much one is late; they may overtake each other."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not (0 <= self.loss < 1 and 0 <= self.jitter < 10):
            raise RealworthyError(
                f"A link cannot lose {self.loss:g} of its packets with a jitter of "
                f"{self.jitter:g} s.",
                hint="loss is a probability below 1, jitter seconds from 0 up to 10.",
            )


class FaultyLink(PacketLink):
    """A link with faults, for tests and rehearsals."""

    def __init__(self, link: PacketLink, faults: LinkFaults) -> None:
        self._link, self._faults = link, faults
        self._random = random.Random(faults.seed)
        self._going: list[tuple[float, int, bytes, Hashable]] = []
        self._coming: list[tuple[float, int, bytes, Hashable]] = []
        self._number = itertools.count()

    @property
    def address(self) -> str:
        return self._link.address

    def send(self, data: bytes, peer: Hashable) -> None:
        self._delay(self._going, data, peer)
        self._pass_on(time.monotonic())

    def receive(self, timeout: float = 0.0) -> tuple[bytes, Hashable] | None:
        end = time.monotonic() + timeout
        while True:
            self._pass_on(time.monotonic())
            while (found := self._link.receive()) is not None:
                self._delay(self._coming, *found)
            now = time.monotonic()
            if self._coming and self._coming[0][0] <= now:
                _, _, data, peer = heapq.heappop(self._coming)
                return data, peer
            if now >= end:
                return None
            due = [queue[0][0] for queue in (self._going, self._coming) if queue]
            found = self._link.receive(max(0.0, min([end, *due]) - now))
            if found is not None:
                self._delay(self._coming, *found)

    def close(self) -> None:
        self._link.close()

    def _delay(self, queue: list, data: bytes, peer: Hashable) -> None:
        if self._random.random() < self._faults.loss:
            return
        late = abs(self._random.gauss(0.0, self._faults.jitter))
        due = time.monotonic() + late
        heapq.heappush(queue, (due, next(self._number), data, peer))

    def _pass_on(self, now: float) -> None:
        while self._going and self._going[0][0] <= now:
            _, _, data, peer = heapq.heappop(self._going)
            self._link.send(data, peer)
