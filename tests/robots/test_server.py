"""The robot's end: only the commander's fresh, whole packets change anything."""

import struct

import numpy as np
import pytest

from realworthy.robots import Command, Mode, State, packets
from realworthy.robots.packets import Flaw, Packet, PacketKind, decode, encode
from realworthy.robots.server import RobotServer, ServerSettings

from .wires import Memory, Obedient

KEY = b"sixteen bytes at least"
HERE, THERE = ("10.0.0.1", 4000), ("10.0.0.2", 4000)
NONCE = b"n" * 16


class Bench:
    """A server without a clock or a socket, and a commander that writes by hand."""

    def __init__(self, key: bytes | None = KEY, address: object = HERE) -> None:
        self.robot, self.link = Obedient(), Memory()
        self.server = RobotServer(self.robot, self.link, ServerSettings(key=key))
        self.key = key
        self.session, self.session_key = self.greet(address)

    def greet(self, address: object) -> tuple[int, bytes | None]:
        """HELLO; the session and its key."""
        hello = Packet(PacketKind.HELLO, 0, 1, 0.0, NONCE)
        self.server.handle(encode(hello, self.key), address, 0.0)
        answer = decode(self.link.sent[-1][0], self.key)
        assert isinstance(answer, Packet)
        assert answer.kind is PacketKind.DESCRIPTION
        theirs = answer.payload[:16]
        return answer.session, packets.derive_key(self.key, NONCE, theirs)

    def make(
        self,
        kind: PacketKind,
        sequence: int,
        payload: bytes = b"",
        *,
        echo: float = 0.0,
        held: float = 0.0,
    ) -> bytes:
        """Says that the server's packet of time `echo` came `held` ago."""
        packet = Packet(kind, self.session, sequence, 5e8, payload, echo, held)
        return encode(packet, self.session_key)

    def command(
        self, sequence: int, *values: float, echo: float = 0.0, held: float = 0.0
    ) -> bytes:
        payload = packets.pack_command(Command(sequence=0, values=np.array(values)))
        return self.make(PacketKind.COMMAND, sequence, payload, echo=echo, held=held)

    def give(self, data: bytes, address: object = HERE, now: float = 0.0) -> None:
        self.server.handle(data, address, now)  # pyright: ignore

    def connect(self, *, reset: bool = False) -> None:
        self.give(self.make(PacketKind.CONNECT, 1, b"\1" if reset else b"\0"))


def test_a_commander_connects_and_is_obeyed():
    bench = Bench()
    bench.connect()
    bench.give(bench.command(2, 0.5, -0.5))
    assert bench.robot.calls == ["connect", "write"]
    assert bench.robot.values == pytest.approx([0.5, -0.5])
    assert not bench.server.flaws


def test_before_it_is_connected_a_commander_is_not_obeyed():
    bench = Bench()
    bench.give(bench.command(2, 0.5, -0.5))
    assert bench.robot.calls == []
    assert bench.server.flaws == {Flaw.PEER: 1}


@pytest.mark.parametrize("key", [None, KEY])
def test_nothing_wrong_changes_anything(key: bytes | None):
    """Each kind of wrong packet; the robot goes on with what it was told."""
    bench = Bench(key)
    bench.connect()
    good = bench.command(10, 0.5, -0.5)
    bench.give(good)
    before = list(bench.robot.calls)
    wrong = {
        Flaw.REPLAYED: [
            good,
            bench.command(9, 1.0, 1.0),
            bench.make(PacketKind.DAMP, 10),
        ],
        Flaw.SIZE: [b"", b"x", good[:-1], good + b"x", b"\0" * 70_000],
        Flaw.CRC: [_flip(good, 40)],
        Flaw.VERSION: [_flip(good, 4)],
        Flaw.MAGIC: [_flip(good, 0), b"\0" * 100],
        Flaw.PAYLOAD: [
            bench.command(11, 0.5),
            bench.command(11, 0.5, 0.5, 0.5),
            bench.command(11, float("nan"), 0.0),
            bench.command(11, float("inf"), 0.0),
            bench.make(PacketKind.STOP, 11, b"x"),
        ],
        Flaw.KIND: [bench.make(PacketKind.STATE, 11), bench.make(PacketKind.HELLO, 11)],
    }
    for flaw, cases in wrong.items():
        for data in cases:
            count = bench.server.flaws[flaw]
            bench.give(data)
            assert bench.server.flaws[flaw] == count + 1, (flaw, data)
    assert bench.robot.calls == before
    assert bench.server.mode is Mode.RUN
    bench.give(bench.command(11, 0.1, 0.2))
    assert bench.robot.values == pytest.approx([0.1, 0.2])


def test_somebody_else_is_not_obeyed_even_with_the_commanders_packets():
    bench = Bench()
    bench.connect()
    bench.give(bench.command(2, 0.5, -0.5))
    for kind in (PacketKind.DAMP, PacketKind.STOP, PacketKind.CLOSE):
        bench.give(bench.make(kind, 3), THERE)
    bench.give(bench.command(4, 0.9, 0.9), THERE)
    assert bench.robot.calls == ["connect", "write"]
    assert sum(bench.server.flaws.values()) == 4
    # A session of their own does not help: the robot is taken.
    bench.session, bench.session_key = bench.greet(THERE)
    bench.give(bench.make(PacketKind.CONNECT, 1, b"\0"), THERE)
    answer = decode(bench.link.sent[-1][0], bench.session_key)
    assert isinstance(answer, Packet)
    assert (answer.kind, answer.payload) == (PacketKind.REFUSED, b"busy")
    assert bench.robot.calls == ["connect", "write"]


def test_without_the_key_nobody_commands():
    bench = Bench()
    for key in (None, b"another key, long enough"):
        hello = encode(Packet(PacketKind.HELLO, 0, 1, 0.0, NONCE), key)
        count = len(bench.link.sent)
        bench.give(hello, THERE)
        assert len(bench.link.sent) == count  # not even an answer
    assert set(bench.server.flaws) == {Flaw.SIZE, Flaw.KEY}


def test_a_whole_session_replayed_later_commands_nothing():
    """Recorded from the wire, byte for byte, and sent again from the same address."""
    bench = Bench()
    hello = encode(Packet(PacketKind.HELLO, 0, 1, 0.0, NONCE), KEY)
    taped = [hello, bench.make(PacketKind.CONNECT, 1, b"\0")]
    taped += [bench.command(k, 0.1 * k, 0.0) for k in range(2, 6)]
    taped.append(bench.make(PacketKind.CLOSE, 6))
    bench.connect()
    for data in taped[2:]:
        bench.give(data)
    calls = list(bench.robot.calls)
    assert calls.count("write") == 4
    for data in taped:
        bench.give(data)
    assert bench.robot.calls == calls
    assert not bench.server.has_peer


def test_commands_that_stop_coming_make_it_brake_within_the_deadline():
    bench = Bench()
    bench.connect()
    bench.give(bench.command(2, 0.5, 0.5, echo=1.0), now=1.0)
    bench.server.tick(1.099)
    assert bench.server.mode is Mode.RUN
    bench.server.tick(1.101)
    assert bench.server.mode is Mode.DAMP
    assert bench.robot.calls[-1] == "damp"
    assert bench.server.damped == 1
    # The same commander goes on.
    bench.give(bench.command(3, 0.5, 0.5, echo=1.2), now=1.2)
    assert bench.server.mode is Mode.RUN


def test_signs_of_life_are_not_commands():
    """DAMP keeps the lease, and never lets a command live on."""
    bench = Bench()
    bench.connect()
    bench.give(bench.command(2, 0.5, 0.5, echo=1.0), now=1.0)
    bench.give(bench.make(PacketKind.DAMP, 3), now=1.05)
    assert bench.robot.mode is Mode.DAMP


def test_garbage_does_not_keep_a_command_alive():
    bench = Bench()
    bench.connect()
    taken = bench.command(2, 0.5, 0.5, echo=1.0)
    bench.give(taken, now=1.0)
    for k in range(50):
        bench.give(taken, now=1 + 0.01 * k)
        bench.server.tick(1 + 0.01 * k)
    assert bench.robot.mode is Mode.DAMP


def test_commands_that_waited_in_a_queue_are_not_obeyed():
    """The robot hung for three seconds, and finds five commands of back then."""
    bench = Bench()
    bench.connect()
    for k in range(2, 10):
        bench.give(bench.command(k, 0.1, 0.1, echo=1 + 0.01 * k), now=1 + 0.01 * k)
    assert bench.robot.calls.count("write") == 8
    for k in range(10, 15):
        bench.give(bench.command(k, 0.9, 0.9, echo=1 + 0.01 * k), now=4.0)
    assert bench.robot.values == pytest.approx([0.1, 0.1])
    assert bench.server.flaws == {Flaw.LATE: 5}
    bench.give(
        bench.make(PacketKind.DAMP, 15, echo=1.15), now=4.0
    )  # braking is never late
    assert bench.robot.mode is Mode.DAMP
    for bad in (float("nan"), float("inf"), float("-inf"), 5.0):
        bench.give(bench.command(16, 0.9, 0.9, echo=bad), now=4.0)
    assert bench.robot.mode is Mode.DAMP
    bench.give(bench.command(17, 0.2, 0.2, echo=4.0), now=4.01)
    assert bench.robot.values == pytest.approx([0.2, 0.2])


@pytest.mark.parametrize("way", [0.0, 0.04, 0.099])
def test_it_brakes_a_deadline_after_the_last_command_was_sent_not_after_it_came(way):
    """A command `way` [s] on its way; it answers a state that came at once."""
    bench = Bench()
    bench.connect()
    sent = 1.0
    bench.give(bench.command(2, 0.5, 0.5, echo=sent), now=sent + way)
    assert bench.server.mode is Mode.RUN
    bench.server.tick(sent + 0.0999)
    assert bench.server.mode is Mode.RUN
    bench.server.tick(sent + 0.1001)
    assert bench.server.mode is Mode.DAMP


def test_a_delay_that_creeps_up_is_seen_however_slowly():
    """0.9 ms a second for ten minutes: no command sent 0.1 s ago or earlier is
    obeyed."""
    bench = Bench()
    bench.connect()
    obeyed_until = 0.0
    for k in range(1, 30_000):
        sent = 0.02 * k
        late = 0.0009 * sent
        before = bench.server.used[PacketKind.COMMAND]
        data = bench.command(k + 1, 0.1, 0.1, echo=sent - 0.002, held=0.002)
        bench.give(data, now=sent + late)
        if bench.server.used[PacketKind.COMMAND] > before:
            obeyed_until = late
    assert obeyed_until == pytest.approx(0.1, abs=1e-3)


def test_who_has_not_heard_from_the_robot_for_a_deadline_does_not_command_it():
    bench = Bench()
    bench.connect()
    bench.give(bench.command(2, 0.5, 0.5, echo=1.0, held=0.09), now=1.09)
    assert bench.robot.calls.count("write") == 1
    bench.give(bench.command(3, 0.9, 0.9, echo=1.0, held=0.11), now=1.11)
    assert bench.robot.calls.count("write") == 1
    assert bench.server.flaws == {Flaw.LATE: 1}


def test_commands_are_cut_to_the_range_that_the_robot_states():
    bench = Bench()
    bench.connect()
    bench.give(bench.command(2, 50.0, -50.0))
    assert bench.robot.values == pytest.approx([1.0, -50.0])  # the knee states none
    assert bench.server.bounded == 1


def test_a_brake_too_short_for_any_state_is_told_all_the_same():
    bench = Bench()
    bench.connect()
    bench.give(bench.command(2, 0.5, 0.5, echo=1.0), now=1.0)
    bench.server.tick(1.2)
    bench.give(bench.command(3, 0.5, 0.5, echo=1.2), now=1.2)
    bench.server.report(1.21)
    packet = decode(bench.link.sent[-1][0], bench.session_key)
    assert isinstance(packet, Packet)
    state = packets.unpack_state(packet, bench.robot.info, 5e8 + 1)
    assert isinstance(state, State)
    assert (state.mode, state.brake_count) == (Mode.RUN, 1)


def test_a_stop_is_latched_for_a_thousand_commands_and_for_the_next_commander():
    bench = Bench()
    bench.connect()
    bench.give(bench.command(2, 0.5, 0.5))
    bench.give(bench.make(PacketKind.STOP, 3))
    calls = list(bench.robot.calls)
    for k in range(4, 1004):
        bench.give(bench.command(k, 0.9, 0.9))
    assert bench.robot.calls == calls
    assert bench.server.mode is Mode.STOPPED
    bench.give(bench.make(PacketKind.CLOSE, 2000))
    bench.session, bench.session_key = bench.greet(THERE)
    bench.give(bench.make(PacketKind.CONNECT, 1, b"\0"), THERE)
    answer = decode(bench.link.sent[-1][0], bench.session_key)
    assert isinstance(answer, Packet)
    assert (answer.kind, answer.payload) == (PacketKind.REFUSED, b"stopped")
    assert bench.server.mode is Mode.STOPPED
    bench.give(bench.make(PacketKind.CONNECT, 2, b"\1"), THERE)  # a person said so
    assert bench.server.mode is Mode.DAMP
    assert bench.robot.calls[-1] == "connect"


def test_a_silent_commander_loses_the_robot_to_another():
    bench = Bench()
    bench.connect()
    bench.server.tick(0.9)
    assert bench.server.has_peer
    bench.server.tick(1.1)
    assert not bench.server.has_peer
    bench.give(bench.command(2, 0.5, 0.5, echo=1.2), now=1.2)
    assert bench.robot.calls == ["connect", "damp"]
    bench.session, bench.session_key = bench.greet(THERE)
    bench.give(bench.make(PacketKind.CONNECT, 1, b"\0"), THERE, now=1.3)
    assert bench.server.has_peer


def test_many_greetings_do_not_pile_up():
    bench = Bench()
    for port in range(1000):
        bench.greet(("10.0.0.3", port))
    assert len(bench.server._greeted) == 8


@pytest.mark.parametrize("key", [None, KEY])
def test_thirty_thousand_random_packets_change_nothing(key: bytes | None):
    """Noise, and the commander's own packets with a few bytes changed."""
    rng = np.random.default_rng(3)
    bench = Bench(key)
    bench.connect()
    bench.give(bench.command(2, 0.5, -0.5))
    calls = list(bench.robot.calls)
    good = bench.command(3, 0.9, 0.9)
    for k in range(30_000):
        if k % 2:
            data = rng.bytes(int(rng.integers(0, 120)))
        else:
            changed = bytearray(good)
            for place in rng.integers(0, len(good), 3):
                changed[place] ^= int(rng.integers(1, 256))
            data = bytes(changed)
            if data == good:
                continue
        bench.give(data, HERE if k % 3 else THERE)
    assert bench.robot.calls == calls
    assert sum(bench.server.flaws.values()) >= 29_990


def _flip(data: bytes, place: int) -> bytes:
    changed = bytearray(data)
    changed[place] ^= 0x40
    return bytes(changed)


def test_the_layout_of_a_command_by_hand():
    bench = Bench(None)
    body = struct.pack("<Hdd", 2, 0.25, -0.5)
    assert bench.command(2, 0.25, -0.5)[48:-4] == body
