"""The commander's end of the wire: a robot elsewhere, behind the `Robot` interface."""

import math
import os
import time
from collections import Counter
from dataclasses import replace

from realworthy.errors import RealworthyError
from realworthy.robots import packets
from realworthy.robots.clock import MonotonicClock
from realworthy.robots.link import PacketLink
from realworthy.robots.packets import Flaw, Packet, PacketKind
from realworthy.robots.robot import Command, Mode, Robot, RobotInfo, State

_RESEND = 0.02
"""[s] between askings that were not answered."""
_ALIVE = 0.05
"""[s] of silence after which a commander that only reads says that it is there."""
_INSIST = 0.25
"""[s] for which a robot is asked to brake or stop until it says that it does."""


_MOST_PACKETS = 2000
"""Packets that are taken at once: a flood must not keep a commander from commanding. A
robot sends some hundreds in a second."""
_STRICTNESS = (Mode.RUN, Mode.DAMP, Mode.STOPPED)


class RobotSilent(RealworthyError):
    """A robot that does not answer, or does not want to be commanded."""


class RemoteRobot(Robot):
    """A robot at the other end of a link.

    `read` gives the newest state and never waits; `write` sends and never waits. A
    robot that has vanished is seen by the age of its states. `reset_stop` is a
    person's word that a robot in emergency stop may be connected again.
    """

    def __init__(
        self,
        link: PacketLink,
        peer: object = None,
        *,
        key: bytes | None = None,
        timeout: float = 2.0,
        reset_stop: bool = False,
    ) -> None:
        self.flaws: Counter[Flaw] = Counter()
        """Packets that were not used, by what was wrong with them."""
        self._link, self._peer, self._key = link, peer, key
        self._timeout, self._reset_stop = timeout, reset_stop
        self._info: RobotInfo | None = None
        self._session, self._session_key = 0, key
        self._sequence = 0
        self._newest: State | None = None
        self._heard: tuple[float, float] | None = None
        """The newest packet's stamp, by the robot's clock, and when it came, by
        ours."""
        self._brakes = 0
        """Times that the robot had braked by itself when it was last read."""
        self._mode = Mode.DAMP
        self._refusal = b""
        """Why the robot does not want to be connected."""
        self._spoke = 0.0
        self._due = 0.0
        self._clock = MonotonicClock()

    @property
    def info(self) -> RobotInfo:
        """Asks the robot, once."""
        if self._info is None:
            self._ask()
        assert self._info is not None
        return self._info

    def connect(self) -> None:
        """Becomes the one commander; the robot brakes until it is commanded."""
        self._ask()
        flag = b"\x01" if self._reset_stop else b"\x00"
        self._heard = None
        self._newest, self._mode, self._refusal = None, Mode.DAMP, b""
        end = time.monotonic() + self._timeout
        while self._newest is None:
            self._send(PacketKind.CONNECT, flag)
            pause = time.monotonic() + _RESEND
            while (left := pause - time.monotonic()) > 0 and self._newest is None:
                self._take(self._link.receive(left))
            is_late = time.monotonic() > end
            if self._refusal == b"stopped" or (self._refusal and is_late):
                raise _refused(self._refusal)
            if is_late:
                raise self._silent()
        self._due = 0.0
        self._brakes = self._newest.brake_count

    def read(self) -> State:
        self._listen()
        if self._newest is None:
            raise RobotSilent(
                "This robot was not connected.", hint="Call connect() first."
            )
        now = time.monotonic()
        if self._mode is not Mode.RUN and now - self._spoke > _ALIVE:
            self._send(PacketKind.DAMP)
        state, before = self._newest, self._brakes
        self._brakes = state.brake_count
        if self._brakes > before:  # for so short a moment that no state shows it
            return replace(
                state, mode=max(state.mode, Mode.DAMP, key=_STRICTNESS.index)
            )
        return state

    def write(self, command: Command) -> None:
        if self._mode is not Mode.STOPPED:
            self._mode = Mode.RUN
            self._listen()  # the robot must know how fresh our knowledge is
            self._send(PacketKind.COMMAND, packets.pack_command(command))

    def wait(self, seconds: float) -> None:
        """Sleeps until `seconds` after the last wait should have ended.

        So a loop that waits a period keeps its rate, whatever its work takes.
        """
        now = self._clock.now()
        self._due += seconds
        if not now - seconds < self._due <= now + seconds:
            self._due = now + seconds  # the first, or too late to catch up
        self._clock.sleep_until(self._due)

    def damp(self) -> None:
        """Brakes, and asks again until the robot says that it does, or 0.25 s."""
        if self._mode is not Mode.STOPPED:
            self._mode = Mode.DAMP
            self._insist(PacketKind.DAMP, (Mode.DAMP, Mode.STOPPED))

    def stop(self) -> None:
        """Emergency stop, asked for again until the robot says that it does."""
        self._mode = Mode.STOPPED
        self._insist(PacketKind.STOP, (Mode.STOPPED,))

    def close(self) -> None:
        """Brakes and lets the robot listen to others."""
        if self._session:
            self.damp()
            for _ in range(3):  # one may be lost; in the end its lease runs out
                self._send(PacketKind.CLOSE)
            self._session, self._newest = 0, None

    def release(self) -> None:
        """Closes, and gives the link back."""
        self.close()
        self._link.close()

    def _listen(self) -> None:
        """Takes what has come, up to as much as may come within a second."""
        for _ in range(_MOST_PACKETS):
            found = self._link.receive()
            if found is None:
                return
            self._take(found)

    def _insist(self, kind: PacketKind, wanted: tuple[Mode, ...]) -> None:
        if not self._session:
            return
        asked = self._newest.sequence if self._newest is not None else 0
        end = time.monotonic() + _INSIST
        while time.monotonic() < end:
            self._send(kind)
            pause = time.monotonic() + _RESEND / 2
            while (left := pause - time.monotonic()) > 0:
                self._take(self._link.receive(left))
                state = self._newest
                if state is not None and state.sequence > asked + 1:
                    if state.mode in wanted:
                        return
                    break

    def _ask(self) -> None:
        """HELLO until a description comes; a session begins with it."""
        nonce = os.urandom(packets.NONCE)
        self._session, self._session_key = 0, self._key
        number = int.from_bytes(os.urandom(4), "little")
        end = time.monotonic() + self._timeout
        while time.monotonic() < end:
            hello = Packet(PacketKind.HELLO, 0, number, 0.0, nonce)
            self._link.send(packets.encode(hello, self._key), self._peer)
            pause = time.monotonic() + _RESEND
            while (left := pause - time.monotonic()) > 0:
                found = self._link.receive(left)
                if found is None:
                    continue
                answer = packets.decode(found[0], self._key)
                if isinstance(answer, Flaw):
                    self.flaws[answer] += 1
                elif (
                    answer.kind is PacketKind.DESCRIPTION and answer.sequence == number
                ):
                    self._begin(answer, nonce)
                    return
        raise self._silent()

    def _begin(self, answer: Packet, nonce: bytes) -> None:
        theirs = answer.payload[: packets.NONCE]
        info = packets.unpack_info(answer.payload[packets.NONCE :])
        if isinstance(info, Flaw):
            raise RobotSilent(
                "The robot describes itself in a way that cannot be read.",
                hint="Try the same version of Realworthy at both ends.",
            )
        self._info, self._session = info, answer.session
        self._session_key = packets.derive_key(self._key, nonce, theirs)
        self._sequence = 0

    def _take(self, found: tuple[bytes, object] | None) -> None:
        if found is None:
            return
        packet = packets.decode(found[0], self._session_key)
        if isinstance(packet, Flaw):
            self.flaws[packet] += 1
        elif packet.session != self._session or self._info is None:
            self.flaws[Flaw.PEER] += 1
        elif packet.kind is PacketKind.REFUSED:
            self._refusal = packet.payload
        elif packet.kind is PacketKind.STATE:
            self._take_state(packet)

    def _take_state(self, packet: Packet) -> None:
        assert self._info is not None
        now = time.monotonic()
        state = packets.unpack_state(packet, self._info, now)
        if isinstance(state, Flaw) or not math.isfinite(packet.time):
            self.flaws[Flaw.PAYLOAD] += 1
        elif self._newest is None or state.sequence > self._newest.sequence:
            self._newest, self._heard = state, (packet.time, now)
        else:
            self.flaws[Flaw.REPLAYED] += 1

    def _send(self, kind: PacketKind, payload: bytes = b"") -> None:
        self._sequence += 1
        now = time.monotonic()
        echo, held = 0.0, 0.0
        if self._heard is not None:
            echo, held = self._heard[0], now - self._heard[1]
        session, number = self._session, self._sequence
        packet = Packet(kind, session, number, now, payload, echo, held)
        self._link.send(packets.encode(packet, self._session_key), self._peer)
        self._spoke = now

    def _silent(self) -> RobotSilent:
        hint = "Is it on, and is the address right?"
        if self.flaws:
            hint = "Something answers that cannot be used: does the key differ?"
        elif self._key is None:
            hint += " A robot with a key answers only who has the same one."
        return RobotSilent(f"No robot answered within {self._timeout:g} s.", hint=hint)


def _refused(payload: bytes) -> RobotSilent:
    if payload == b"busy":
        return RobotSilent(
            "The robot is commanded by somebody else.",
            hint="It is free a second after they are gone.",
        )
    return RobotSilent(
        "The robot is in emergency stop.",
        hint="Look at it. Where it is safe, say so: --reset-stop.",
    )
