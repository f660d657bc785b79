"""The robot's end of the wire: any `Robot`, commanded by one peer at a time.

What this end promises, whatever the other and the network do: the robot brakes when the
deadline has passed since the last command was *sent*; no command leaves the range that
the robot's own description states; a stop stays until a commander asks for a reset when
it connects; packets that are not right change nothing and are counted.

When a command was sent is bounded by the robot's own clock (`packets`): it answers a
state that we sent. A link whose way there and back is longer than the deadline cannot
command the robot at all.
"""

import math
import os
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from realworthy.errors import RealworthyError
from realworthy.robots import packets
from realworthy.robots.link import PacketLink
from realworthy.robots.packets import Flaw, Packet, PacketKind
from realworthy.robots.robot import Command, Mode, Robot

Floats = NDArray[np.float64]
_GREETINGS = 8
"""Peers that may be about to connect at the same time."""
_FAR_BEHIND = 0.05
"""[s] of physics that are caught up at most; beyond, the robot's clock goes slow."""


@dataclass(kw_only=True, slots=True)
class ServerSettings:
    """How the robot's end behaves."""

    deadline: float = 0.1
    """[s] since the last command was sent after which the robot brakes by itself."""
    lease: float = 1.0
    """[s] of silence after which another peer may connect."""
    tick: float = 0.004
    """[s] between states that are sent; also how often the deadline is looked at."""
    key: bytes | None = None
    """Shared with whoever may command the robot."""

    def __post_init__(self) -> None:
        if not 0 < self.tick < self.deadline <= self.lease < 60:
            raise RealworthyError(
                f"A robot cannot look every {self.tick:g} s for commands, brake after "
                f"{self.deadline:g} s and be free after {self.lease:g} s.",
                hint="They must be above 0 and grow in this order.",
            )


@dataclass(slots=True)
class _Peer:
    address: Hashable
    session: int
    key: bytes | None
    heard: float
    sequence: int
    """Of the newest packet used."""
    time: float = 0.0
    """Its stamp, by the peer's clock."""


class RobotServer:
    """Serves one robot on one link."""

    def __init__(
        self, robot: Robot, link: PacketLink, settings: ServerSettings | None = None
    ) -> None:
        self.settings = settings or ServerSettings()
        self.flaws: Counter[Flaw] = Counter()
        """Packets that changed nothing, by what was wrong with them."""
        self.used: Counter[PacketKind] = Counter()
        self.damped = 0
        """Times the deadline passed and the robot was made to brake."""
        self.bounded = 0
        """Commands beyond the robot's own range, which were cut to it."""
        self._robot, self._link = robot, link
        self._description = packets.pack_info(robot.info)
        self._width = len(robot.info.commands)
        self._greeted: OrderedDict[int, _Peer] = OrderedDict()
        self._peer: _Peer | None = None
        self._gone: _Peer | None = None
        """Who commanded last; its CLOSE comes several times."""
        self._commanded = 0.0
        """[s] before which the last command taken was not sent."""
        self._mode = Mode.DAMP
        self._sequence = 0
        self._followed = 0

    @property
    def mode(self) -> Mode:
        return self._mode

    @property
    def has_peer(self) -> bool:
        return self._peer is not None

    def serve(self, goes_on: Callable[[], bool] = lambda: True) -> None:
        """Serves in real time until `goes_on` says no; the robot brakes at the end."""
        self._robot.connect()
        try:
            beat = time.monotonic()
            while goes_on():
                beat += self.settings.tick
                self._listen(beat)
                now = time.monotonic()
                self.tick(now)
                if self._robot.steps_time:
                    self._robot.wait(self.settings.tick)
                if now - beat > _FAR_BEHIND:
                    beat = now
                self.report(time.monotonic())
        finally:
            self._robot.close()

    def tick(self, now: float) -> None:
        """Looks at the deadline and at the peer's silence."""
        late = now - self._commanded > self.settings.deadline
        if self._mode is Mode.RUN and late:
            self._mode = Mode.DAMP
            self.damped += 1
            self._robot.damp()
        peer = self._peer
        if peer is not None and now - peer.heard > self.settings.lease:
            self._let_go()

    def handle(self, data: bytes, address: Hashable, now: float) -> None:
        """Takes one packet from the wire; whatever it is, nothing is raised."""
        peer = self._peer
        if (
            peer is not None
            and address == peer.address
            and packets.read_session(data) == peer.session
        ):
            found = packets.decode(data, peer.key)
            flaw = found if isinstance(found, Flaw) else self._obey(found, peer, now)
        else:
            flaw = self._greet(data, address, now)
        if flaw is not None:
            self.flaws[flaw] += 1

    def _listen(self, until: float) -> None:
        """Takes packets as they come until a moment, then whatever is there."""
        count = 0
        while True:
            left = until - time.monotonic()
            found = self._link.receive(max(0.0, left))
            if found is not None:
                self.handle(*found, time.monotonic())
                count += 1
            if left <= 0 and (found is None or count > _FLOOD):
                return

    def report(self, now: float) -> None:
        """Sends the newest state to the commander."""
        peer = self._peer
        if peer is None:
            return
        state = self._robot.read()
        mode = state.mode if self._mode is Mode.RUN else self._mode
        state = replace(state, mode=mode, brake_count=state.brake_count + self.damped)
        payload = packets.pack_state(state, self._followed)
        self._send(PacketKind.STATE, peer, payload, now)

    def _send(self, kind: PacketKind, peer: _Peer, payload: bytes, now: float) -> None:
        self._sequence += 1
        held = now - peer.heard
        packet = Packet(
            kind, peer.session, self._sequence, now, payload, peer.time, held
        )
        self._link.send(packets.encode(packet, peer.key), peer.address)

    def _obey(self, packet: Packet, peer: _Peer, now: float) -> Flaw | None:
        """A packet of the commander's own session."""
        if packet.kind is PacketKind.CONNECT:  # our answer was lost
            peer.heard, peer.time = now, packet.time
            self._send(PacketKind.CONNECTED, peer, b"", now)
            return None
        if packet.kind not in (
            PacketKind.COMMAND,
            PacketKind.DAMP,
            PacketKind.STOP,
            PacketKind.CLOSE,
        ):
            return Flaw.KIND
        if packet.sequence <= peer.sequence:
            return Flaw.REPLAYED
        if not math.isfinite(packet.time):
            return Flaw.PAYLOAD
        values, sent_after = None, now
        if packet.kind is PacketKind.COMMAND:
            values = packets.unpack_command(packet.payload, self._width)
            if isinstance(values, Flaw):
                return values
            bound = packet.bound_sending(now)
            if bound is None:
                return Flaw.PAYLOAD
            sent_after = bound
            # A robot that hung finds commands in its queue that nobody means any more;
            # and who has not heard from it for so long does not know what he commands.
            if max(now - sent_after, packet.held) > self.settings.deadline:
                return Flaw.LATE
        elif packet.payload:
            return Flaw.PAYLOAD
        peer.sequence, peer.heard, peer.time = packet.sequence, now, packet.time
        self.used[packet.kind] += 1
        if packet.kind is PacketKind.STOP:
            self._mode = Mode.STOPPED
            self._robot.stop()
        elif packet.kind is PacketKind.CLOSE:
            self._let_go()
        elif self._mode is Mode.STOPPED:
            return None
        elif values is None:
            self._mode = Mode.DAMP
            self._robot.damp()
        else:
            self._mode, self._commanded = Mode.RUN, sent_after
            self._followed = packet.sequence
            self._write(packet.sequence, values)
        return None

    def _write(self, sequence: int, values: Floats) -> None:
        """Obeys a command within the range that the robot itself states."""
        info = self._robot.info
        bounded = np.clip(values, info.command_lower, info.command_upper)
        self.bounded += bool((bounded != values).any())
        self._robot.write(Command(sequence=sequence, values=bounded))

    def _greet(self, data: bytes, address: Hashable, now: float) -> Flaw | None:
        """A packet of somebody who does not command: may only ask, and connect."""
        session, gone = packets.read_session(data), self._gone
        if gone is not None and (gone.session, gone.address) == (session, address):
            found = packets.decode(data, gone.key)
            if isinstance(found, Packet) and found.kind is PacketKind.CLOSE:
                return None
        known = self._greeted.get(session)
        if known is not None and known.address == address:
            found = packets.decode(data, known.key)
            if isinstance(found, Flaw):
                return found
            if found.kind is not PacketKind.CONNECT:
                return Flaw.PEER
            return self._accept(found, known, now)
        found = packets.decode(data, self.settings.key)
        if isinstance(found, Flaw):
            return found
        if found.kind is not PacketKind.HELLO:
            return Flaw.PEER
        if len(found.payload) != packets.NONCE:
            return Flaw.PAYLOAD
        self._describe(found, address, now)
        return None

    def _describe(self, hello: Packet, address: Hashable, now: float) -> None:
        """Answers with who we are, and a session that exists once it is connected."""
        nonce = os.urandom(packets.NONCE)
        session = int.from_bytes(os.urandom(8), "little") or 1
        key = packets.derive_key(self.settings.key, hello.payload, nonce)
        self._greeted[session] = _Peer(address, session, key, now, 0)
        while len(self._greeted) > _GREETINGS:
            self._greeted.popitem(last=False)
        # The echoed sequence tells the asker that this is the answer to its question.
        answer = Packet(
            PacketKind.DESCRIPTION,
            session,
            hello.sequence,
            0.0,
            nonce + self._description,
        )
        self._link.send(packets.encode(answer, self.settings.key), address)

    def _accept(self, packet: Packet, known: _Peer, now: float) -> Flaw | None:
        if len(packet.payload) != 1 or not math.isfinite(packet.time):
            return Flaw.PAYLOAD
        if self._peer is not None and self._peer.address != known.address:
            self._send(PacketKind.REFUSED, known, b"busy", now)
            return Flaw.PEER
        if self._mode is Mode.STOPPED and packet.payload != b"\x01":
            self._send(PacketKind.REFUSED, known, b"stopped", now)
            return None
        del self._greeted[known.session]
        known.heard, known.sequence, known.time = now, packet.sequence, packet.time
        self._peer, self._mode = known, Mode.DAMP
        self._robot.connect()
        self.used[PacketKind.CONNECT] += 1
        self._send(PacketKind.CONNECTED, known, b"", now)
        return None

    def _let_go(self) -> None:
        self._gone, self._peer = self._peer, None
        if self._mode is not Mode.STOPPED:
            self._mode = Mode.DAMP
            self._robot.damp()


_FLOOD = 200
"""Packets that are looked at within one tick, at most; more are left to be lost."""
