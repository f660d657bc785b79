"""The reference protocol: what goes over the wire between a robot and its commander.

A packet is little-endian: a header of 48 bytes (magic `RWRB`, version, kind, length of
the payload, session, sequence, and three times [s]), the payload, the CRC-32 of both
and, where the two share a key, 16 bytes of HMAC-SHA-256 over all before. Every payload
is in docs/drivers.md. A packet that is not exactly right is no packet: `decode` says
what is wrong with it and nothing of it is used.

The times bound how old a packet is without comparing two clocks, as RTCP does (RFC
3550, section 6.4.1): `time` is the sender's clock, `echo` the newest `time` that the
sender has had from the other side, `held` how long ago that came, so that whoever
receives it knows

    sent no earlier than echo + held,  on way for at most now − (echo + held),

all on its own clock. The bound is the way there and back; drift enters by `held` alone.
"""

import enum
import hashlib
import hmac
import math
import struct
import zlib
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from realworthy.recordings.sidecar import CommandKind
from realworthy.robots.robot import Command, Mode, RobotInfo, State

Floats = NDArray[np.float64]
VERSION = 2
NONCE = 16
"""Bytes of chance that each side adds to a session's key."""
TAG = 16
"""Bytes of a keyed packet's signature."""
_MAGIC = b"RWRB"
_HEADER = struct.Struct("<4sBBHQQddd")
_CRC = struct.Struct("<I")
_STATE = struct.Struct("<BHHQId")
_COMMAND = struct.Struct("<H")
_MODES = (Mode.DAMP, Mode.RUN, Mode.STOPPED)
MAX_PACKET_BYTES = 60_000
"""Bytes: UDP over IPv4 carries 65,507 (65,535 − 20 − 8)."""
_MOST_SIGNALS = 1024
"""Joints, commands or other signals of a robot; a description with more is refused. A
state of so many joints still fits a packet."""
_CLOCK_ERROR = 1e-3
"""[s, and share of `held`] by which `echo + held` may lie ahead of the receiver's
clock: rounding, and the drift of a quartz (1e-4) with room to spare."""


class PacketKind(enum.IntEnum):
    """What a packet is for; the arrow says who sends it."""

    HELLO = 1
    """→ robot: who are you? A nonce."""
    DESCRIPTION = 2
    """→ us: a nonce, and `RobotInfo` as JSON."""
    CONNECT = 3
    """→ robot: I am your commander now; a byte, 1 where a stop shall be reset."""
    CONNECTED = 4
    """→ us"""
    REFUSED = 5
    """→ us: why not, as text."""
    STATE = 6
    """→ us"""
    COMMAND = 7
    """→ robot"""
    DAMP = 8
    """→ robot: brake; also a sign of life while nothing is commanded."""
    STOP = 9
    """→ robot: emergency stop."""
    CLOSE = 10
    """→ robot: brake, and listen to others again."""


class Flaw(enum.StrEnum):
    """Why a packet was not used."""

    SIZE = "size"
    MAGIC = "magic"
    VERSION = "version"
    KIND = "kind"
    CRC = "crc"
    KEY = "key"
    PEER = "peer"
    """From somebody else than the commander, or of another session."""
    REPLAYED = "replayed"
    """As old as one that was used already, or older."""
    LATE = "late"
    """A command that was on its way for longer than the robot's deadline."""
    PAYLOAD = "payload"
    """Not what its kind should hold: another number of joints, NaN, …"""


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet that is whole, of this version and, where a key is shared, signed."""

    kind: PacketKind
    session: int
    sequence: int
    time: float
    payload: bytes
    echo: float = 0.0
    """[s, receiver's clock] newest `time` that the sender had from the receiver."""
    held: float = 0.0
    """[s] between its arrival and this packet's sending."""

    def bound_sending(self, now: float) -> float | None:
        """[s, receiver's clock] a moment before which it was not sent.

        None where its times cannot be true: not finite, or from the future.
        """
        earliest = self.echo + self.held
        if not math.isfinite(earliest) or self.held < 0:
            return None
        if earliest > now + _CLOCK_ERROR * (1 + self.held):
            return None
        return min(earliest, now)


def encode(packet: Packet, key: bytes | None = None) -> bytes:
    """Bytes for the wire."""
    head = _HEADER.pack(
        _MAGIC,
        VERSION,
        packet.kind,
        len(packet.payload),
        packet.session,
        packet.sequence,
        packet.time,
        packet.echo,
        packet.held,
    )
    body = head + packet.payload
    body += _CRC.pack(zlib.crc32(body))
    return body if key is None else body + _sign(body, key)


def decode(data: bytes, key: bytes | None = None) -> Packet | Flaw:
    """What bytes from the wire say, or what is wrong with them."""
    least = _HEADER.size + _CRC.size + (0 if key is None else TAG)
    if not least <= len(data) <= MAX_PACKET_BYTES:
        return Flaw.SIZE
    magic, version, kind, size, session, sequence, *times = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        return Flaw.MAGIC
    if version != VERSION:
        return Flaw.VERSION
    if len(data) != least + size:
        return Flaw.SIZE
    end = _HEADER.size + size
    if zlib.crc32(data[:end]) != _CRC.unpack_from(data, end)[0]:
        return Flaw.CRC
    if key is not None and not hmac.compare_digest(
        _sign(data[: end + _CRC.size], key), data[end + _CRC.size :]
    ):
        return Flaw.KEY
    if not 1 <= kind <= len(PacketKind):
        return Flaw.KIND
    time, echo, held = times
    payload = data[_HEADER.size : end]
    return Packet(PacketKind(kind), session, sequence, time, payload, echo, held)


def read_session(data: bytes) -> int:
    """The session that bytes claim, before anything is checked; 0 of too few."""
    return _HEADER.unpack_from(data)[4] if len(data) >= _HEADER.size else 0


def derive_key(key: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
    """The key of one session, from the commander's nonce and the robot's."""
    if key is None:
        return None
    return hmac.digest(key, b"session" + ours + theirs, hashlib.sha256)


def pack_command(command: Command) -> bytes:
    values = np.ascontiguousarray(command.values, dtype="<f8")
    return _COMMAND.pack(len(values)) + values.tobytes()


def unpack_command(payload: bytes, count: int) -> Floats | Flaw:
    """(count,) finite numbers."""
    if len(payload) != _COMMAND.size + 8 * count:
        return Flaw.PAYLOAD
    if _COMMAND.unpack_from(payload)[0] != count:
        return Flaw.PAYLOAD
    values = np.frombuffer(payload, dtype="<f8", offset=_COMMAND.size)
    return values.astype(np.float64) if np.isfinite(values).all() else Flaw.PAYLOAD


def pack_state(state: State, followed: int) -> bytes:
    """`followed` is the sequence of the command that the robot took last."""
    parts = (state.position, state.velocity, state.torque, state.others)
    numbers = np.concatenate(parts).astype("<f8", copy=False)
    head = _STATE.pack(
        _MODES.index(state.mode),
        len(state.position),
        len(state.others),
        followed,
        state.brake_count % 2**32,
        state.time,
    )
    return head + numbers.tobytes()


def unpack_state(packet: Packet, info: RobotInfo, now: float) -> State | Flaw:
    """A state of the robot described; numbers may be NaN, which guards look at.

    `now` is the receiver's clock [s].
    """
    joints, others = len(info.joints), len(info.other_signals)
    payload = packet.payload
    if len(payload) != _STATE.size + 8 * (3 * joints + others):
        return Flaw.PAYLOAD
    mode, joint_count, other_count, _, brakes, time = _STATE.unpack_from(payload)
    if (joint_count, other_count) != (joints, others) or mode >= len(_MODES):
        return Flaw.PAYLOAD
    sent_after = packet.bound_sending(now)
    if sent_after is None:
        return Flaw.PAYLOAD
    numbers = np.frombuffer(payload, dtype="<f8", offset=_STATE.size)
    numbers = numbers.astype(np.float64)
    return State(
        time=time,
        sequence=packet.sequence,
        position=numbers[:joints],
        velocity=numbers[joints : 2 * joints],
        torque=numbers[2 * joints : 3 * joints],
        others=numbers[3 * joints :],
        mode=_MODES[mode],
        brake_count=brakes,
        sent_after=sent_after,
    )


class _Description(msgspec.Struct, frozen=True, kw_only=True):
    """`RobotInfo` as JSON; keys that a newer robot adds are passed over."""

    name: str
    joints: tuple[str, ...]
    commands: tuple[str, ...]
    command_kind: CommandKind | None
    rate: float
    command_lower: tuple[float | None, ...]
    command_upper: tuple[float | None, ...]
    """None: nothing clips it."""
    other_signals: tuple[str, ...] = ()


def pack_info(info: RobotInfo) -> bytes:
    return msgspec.json.encode(
        _Description(
            name=info.name,
            joints=info.joints,
            commands=info.commands,
            command_kind=info.command_kind,
            rate=info.rate,
            command_lower=_without_infinity(info.command_lower),
            command_upper=_without_infinity(info.command_upper),
            other_signals=info.other_signals,
        )
    )


def unpack_info(payload: bytes) -> RobotInfo | Flaw:
    try:
        found = msgspec.json.decode(payload, type=_Description)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Flaw.PAYLOAD
    count = len(found.commands)
    if {len(found.command_lower), len(found.command_upper)} != {count}:
        return Flaw.PAYLOAD
    if not 0 < found.rate < 1e6:
        return Flaw.PAYLOAD
    for names in ((found.name,), found.joints, found.commands, found.other_signals):
        if len(names) > _MOST_SIGNALS or len(set(names)) < len(names):
            return Flaw.PAYLOAD
        if not all(name and name.isprintable() for name in names):
            return Flaw.PAYLOAD  # an escape code is no name
    lower = [-np.inf if value is None else value for value in found.command_lower]
    upper = [np.inf if value is None else value for value in found.command_upper]
    return RobotInfo(
        name=found.name,
        joints=found.joints,
        commands=found.commands,
        command_kind=found.command_kind,
        rate=found.rate,
        command_lower=np.array(lower, dtype=np.float64),
        command_upper=np.array(upper, dtype=np.float64),
        other_signals=found.other_signals,
    )


def _without_infinity(values: Floats) -> tuple[float | None, ...]:
    return tuple(float(value) if np.isfinite(value) else None for value in values)


def _sign(body: bytes, key: bytes) -> bytes:
    return hmac.digest(key, body, hashlib.sha256)[:TAG]
