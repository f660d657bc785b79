"""Packets come out as they went in, or not at all."""

import struct
import zlib

import numpy as np
import pytest

from realworthy.robots import Command, Mode, State, packets
from realworthy.robots.packets import Flaw, Packet, PacketKind, decode, encode

from .wires import INFO

KEY = b"sixteen bytes at least"
PACKET = Packet(PacketKind.COMMAND, 77, 5, 1.25, b"abc", 7.5, 0.25)


def test_the_bytes_are_those_that_the_page_says():
    """By hand: header of 48 bytes, payload, CRC-32; little-endian."""
    data = encode(PACKET)
    head = struct.pack("<4sBBHQQddd", b"RWRB", 2, 7, 3, 77, 5, 1.25, 7.5, 0.25)
    assert data == head + b"abc" + struct.pack("<I", zlib.crc32(head + b"abc"))
    assert len(head) == 48
    assert len(encode(PACKET, KEY)) == len(data) + 16


@pytest.mark.parametrize("key", [None, KEY])
def test_there_and_back(key: bytes | None):
    assert decode(encode(PACKET, key), key) == PACKET


def test_every_bit_that_changes_is_noticed():
    for key in (None, KEY):
        data = encode(PACKET, key)
        for place in range(len(data) * 8):
            changed = bytearray(data)
            changed[place // 8] ^= 1 << place % 8
            assert isinstance(decode(bytes(changed), key), Flaw)


def test_every_other_length_is_noticed():
    data = encode(PACKET, KEY)
    for length in range(len(data)):
        assert isinstance(decode(data[:length], KEY), Flaw)
    assert decode(data + b"\0", KEY) is Flaw.SIZE
    assert decode(b"\0" * 100_000) is Flaw.SIZE


def resign(data: bytes, place: int, value: bytes) -> bytes:
    """The same with other bytes and a checksum that fits."""
    body = data[:place] + value + data[place + len(value) : -4]
    return body + struct.pack("<I", zlib.crc32(body))


def test_what_is_wrong_is_said():
    data = encode(PACKET)
    assert decode(resign(data, 0, b"NOPE")) is Flaw.MAGIC
    assert decode(resign(data, 4, b"\1")) is Flaw.VERSION
    assert decode(resign(data, 5, b"\0")) is Flaw.KIND
    assert decode(resign(data, 5, b"\x63")) is Flaw.KIND
    assert decode(resign(data, 6, b"\x04\0")) is Flaw.SIZE
    assert decode(data[:-1] + b"\0") is Flaw.CRC
    assert decode(encode(PACKET, b"another key of some length"), KEY) is Flaw.KEY
    assert decode(encode(PACKET), KEY) is Flaw.SIZE


def test_commands_must_be_finite_and_as_many_as_the_robot_takes():
    payload = packets.pack_command(Command(sequence=1, values=np.array([0.1, -2.0])))
    assert packets.unpack_command(payload, 2) == pytest.approx([0.1, -2.0])
    assert packets.unpack_command(payload, 3) is Flaw.PAYLOAD
    assert packets.unpack_command(payload[:-1], 2) is Flaw.PAYLOAD
    for bad in (np.nan, np.inf):
        values = np.array([0.1, bad])
        payload = packets.pack_command(Command(sequence=1, values=values))
        assert packets.unpack_command(payload, 2) is Flaw.PAYLOAD


@pytest.mark.parametrize("mode", list(Mode))
def test_states_there_and_back_also_with_nan(mode: Mode):
    state = State(
        time=3.5,
        sequence=9,
        position=np.array([0.1, np.nan]),
        velocity=np.array([1.0, 2.0]),
        torque=np.array([-1.0, 1e300]),
        others=np.array([7.0]),
        mode=mode,
        brake_count=237,
        sent_after=20.25,
    )
    payload = packets.pack_state(state, 4)
    packet = Packet(PacketKind.STATE, 1, 9, 88.0, payload, echo=20.0, held=0.25)
    found = packets.unpack_state(packet, INFO, 20.5)
    assert isinstance(found, State)
    for name in State.__slots__:
        np.testing.assert_equal(getattr(found, name), getattr(state, name))
    short = Packet(PacketKind.STATE, 1, 9, 3.5, packet.payload[:-8])
    assert packets.unpack_state(short, INFO, 20.5) is Flaw.PAYLOAD


@pytest.mark.parametrize(
    ("echo", "held", "bound"),
    [
        (10.0, 0.5, 10.5),
        (10.0, 0.0, 10.0),
        (11.0, 1.0005, 12.0),  # within what two clocks may differ: never after now
        (11.0, 2.0, None),
        (13.0, 0.0, None),
        (10.0, -0.1, None),
        (float("nan"), 0.0, None),
        (10.0, float("inf"), None),
        (float("-inf"), 0.0, None),
    ],
)
def test_when_a_packet_was_sent_is_bounded_by_our_own_clock(
    echo: float, held: float, bound: float | None
):
    packet = Packet(PacketKind.COMMAND, 1, 1, 1e9, b"", echo, held)
    assert packet.bound_sending(12.0) == bound


def test_a_description_there_and_back():
    found = packets.unpack_info(packets.pack_info(INFO))
    assert not isinstance(found, Flaw)
    for name in INFO.__slots__:
        np.testing.assert_equal(getattr(found, name), getattr(INFO, name))
    assert packets.unpack_info(b"{}") is Flaw.PAYLOAD
    assert packets.unpack_info(b"\xff\xfe") is Flaw.PAYLOAD
    for part, worse in (
        (b'"rate":100.0', b'"rate":-1.0'),
        (b'"name":"leg"', b'"name":""'),
        (b'"name":"leg"', b'"name":"\\u001b[31mleg"'),
        (b'"hip","knee"', b'"hip","hip"'),
        (b'"hip","knee"', b'"hip\\n","knee"'),
        (b'"hip","knee"', b",".join(b'"j%d"' % i for i in range(2000))),
    ):
        data = packets.pack_info(INFO)
        assert part in data
        assert packets.unpack_info(data.replace(part, worse, 1)) is Flaw.PAYLOAD
    assert packets.unpack_info(b'{"name":' + b"[" * 50_000) is Flaw.PAYLOAD


def test_every_session_has_a_key_of_its_own():
    one = packets.derive_key(KEY, b"a" * 16, b"b" * 16)
    assert one != packets.derive_key(KEY, b"a" * 16, b"c" * 16)
    assert one != packets.derive_key(KEY, b"c" * 16, b"b" * 16)
    assert packets.derive_key(None, b"a" * 16, b"b" * 16) is None
