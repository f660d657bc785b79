"""How quick, how punctual and how safe deployment is, on this machine.

    python benchmarks/deployment.py                        # a few minutes
    python benchmarks/deployment.py --only soak --seconds 600

Parts: `inference` (a policy of 3 × 256, and all of a guarded step), `lateness` (a loop
of 500 Hz, as it is and with FIFO), `wire` (a packet to a second process and back),
`soak` (200 Hz with 10 % loss each way against `realworthy robot`, everything on the
disk while it happens), `fuzz` (a million broken and hostile packets, to a robot and to
its commander), `filter` (a million extreme numbers through the command filter). Quote
figures of an idle machine only.
"""

import argparse
import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable
from pathlib import Path

import numpy as np

from realworthy.deployment import (
    GuardedRobot,
    GuardSettings,
    Loop,
    Phase,
    RealTimeSettings,
    WatchdogSettings,
    make_drives,
    real_time,
)
from realworthy.deployment.drives import Drives
from realworthy.deployment.filter import CommandFilter
from realworthy.deployment.trial_log import TrialLog
from realworthy.recordings.sidecar import CommandKind
from realworthy.robots import Command, Mode, Robot, RobotInfo, State, packets
from realworthy.robots.address import parse_address, reach
from realworthy.robots.clock import Clock, MonotonicClock, SteppedClock
from realworthy.robots.limits import Limits
from realworthy.robots.link import PacketLink
from realworthy.robots.packets import Packet, PacketKind
from realworthy.robots.remote import RemoteRobot
from realworthy.robots.server import RobotServer, ServerSettings

JOINTS = tuple(f"joint_{i}" for i in range(12))
INFO = RobotInfo(
    name="twelve",
    joints=JOINTS,
    commands=tuple(f"{joint}.command" for joint in JOINTS),
    command_kind="position",
    rate=500.0,
    command_lower=np.full(12, -2.0),
    command_upper=np.full(12, 2.0),
)


class Still(Robot):
    """Twelve joints that follow at once; no physics."""

    def __init__(self) -> None:
        self.count, self.time, self.values = 0, 0.0, np.zeros(12)
        self.mode, self.calls = Mode.DAMP, Counter[str]()

    @property
    def info(self) -> RobotInfo:
        return INFO

    @property
    def steps_time(self) -> bool:
        return True

    def connect(self) -> None:
        self.calls["connect"] += 1

    def read(self) -> State:
        return State(
            time=self.time,
            sequence=self.count,
            position=self.values,
            velocity=np.zeros(12),
            torque=np.zeros(12),
            others=np.zeros(0),
            mode=self.mode,
        )

    def write(self, command: Command) -> None:
        self.calls["write"] += 1
        self.mode, self.values = Mode.RUN, command.values

    def wait(self, seconds: float) -> None:
        self.time += seconds
        self.count += 1

    def damp(self) -> None:
        self.calls["damp"] += 1
        self.mode = Mode.DAMP

    def stop(self) -> None:
        self.calls["stop"] += 1


def describe(name: str, seconds: list[float] | np.ndarray) -> None:
    p50, p99, p999 = 1e6 * np.percentile(seconds, [50, 99, 99.9])
    print(
        f"{name:44s} p50 {p50:8.1f}  p99 {p99:8.1f}  p99.9 {p999:8.1f}  "
        f"max {1e6 * max(seconds):8.1f} µs",
        flush=True,
    )


def clock(work: Callable[[], object], count: int) -> list[float]:
    found = []
    for _ in range(count):
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return found


def measure_inference(seconds: float) -> None:
    """48 → 256 → 256 → 256 → 12, one row; and the guards around it."""
    from realworthy.policies.onnx_file import read_graph
    from realworthy.policies.runner import Runner, sort_ports

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mlp.onnx"
        save_network(path, (48, 256, 256, 256, 12))
        graph = read_graph(path)
        ports = sort_ports(graph)
        row = np.random.default_rng(0).normal(size=(1, 48)).astype(np.float32)
        from realworthy.policies.numpy_runner import NumpyRunner

        runners: dict[str, Runner] = {"numpy": NumpyRunner(graph, ports, worlds=1)}
        try:
            from realworthy.policies.onnx_runner import OnnxRunner

            runners["onnxruntime"] = OnnxRunner(path, ports)
        except ImportError:
            print("onnxruntime is not installed")
        for name, runner in runners.items():
            runner.run(row)
            describe(f"inference, {name}", clock(lambda r=runner: r.run(row), 5000))
    robot = Still()
    guarded = make_guarded(robot, 0.002, SteppedClock(robot))
    guarded.connect()
    guarded.machine.change(Phase.HOLD, 0.0)
    guarded.machine.change(Phase.RUN, 0.0)
    target = np.full(12, 0.1)
    describe(
        "guarded step without the policy, 12 joints",
        clock(lambda: guarded.step(lambda state: target, is_policy=True), 5000),
    )


def measure_lateness(seconds: float) -> None:
    """500 Hz, as it is, and with FIFO, one core and resident memory."""
    for name, settings in (
        ("500 Hz loop, as it is", RealTimeSettings()),
        (
            "500 Hz loop, FIFO 80, one core, locked",
            RealTimeSettings(
                fifo_priority=80, core=max(os.sched_getaffinity(0)), lock_memory=True
            ),
        ),
    ):
        loop = Loop(0.002, MonotonicClock())
        with real_time(settings) as refused:
            for _ in range(int(min(seconds, 20) * 500)):
                loop.wait()
        describe(name, np.array(loop.lates[10:]))
        found = loop.profile()
        print(
            f"    {found.overruns} overruns, {found.skipped} left out, period off by "
            f"{1e6 * found.period_error:.1f} ppm{'; refused: ' if refused else ''}"
            + ", ".join(refused)
        )


def measure_wire(seconds: float) -> None:
    """A packet of a state's size to a second process and back; then with packets."""
    child = subprocess.Popen(
        [sys.executable, "-c", _ECHO], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    try:
        from realworthy.robots.udp import UdpLink

        link = UdpLink.reach("127.0.0.1", int(child.stdout.readline()))
        state = packets.pack_state(Still().read(), 0)
        for name, key in (("no key", None), ("with a key", b"k" * 32)):

            def there_and_back(key: bytes | None = key) -> None:
                packet = Packet(PacketKind.STATE, 1, 1, 0.0, state)
                link.send(packets.encode(packet, key), None)
                found = link.receive(1.0)
                assert found is not None
                packets.decode(found[0], key)

            clock(there_and_back, 200)
            describe(f"wire, {name}: there and back", clock(there_and_back, 5000))
        link.close()
    finally:
        child.kill()
        child.wait()


def measure_soak(seconds: float) -> None:
    """200 Hz, a tenth of the packets lost each way; the robot in a second process."""
    listen = ("--listen", "udp://127.0.0.1:0", "--loss", "0.1", "--seed", "1")
    child = subprocess.Popen(
        [sys.executable, "-m", "realworthy", "robot", "arm", *listen],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    try:
        robot = reach(parse_address(child.stdout.readline().split()[0]))
        with tempfile.TemporaryDirectory() as folder:
            found = soak(robot, seconds, child.pid, Path(folder))
        robot.release()
    finally:
        child.terminate()
        said = child.stdout.read()
        child.wait(10)
    print(found)
    print("    robot:", said.strip())


def soak(robot: RemoteRobot, seconds: float, other: int, folder: Path) -> str:
    """What went wrong, what was unsafe, what grew; `other` is the robot's process."""
    period, faults, unsafe, steps = 0.005, Counter[str](), 0, 0
    begin = time.monotonic()
    sizes: list[tuple[int, int]] = []
    longest: Loop | None = None
    rows, trial = 0, 0
    while time.monotonic() - begin < seconds:
        trial += 1
        log = TrialLog(robot.info, folder / f"trial_{trial}.journal")
        guarded = make_guarded(robot, period, MonotonicClock(), log)
        state = guarded.connect()
        guarded.machine.change(Phase.HOLD, 0.0)
        guarded.machine.change(Phase.RUN, 0.0)
        rest, last = np.array(state.position), np.array(state.position)
        limits = guarded.drives
        while time.monotonic() - begin < seconds:
            wave = 0.3 * np.sin(2 * np.pi * 0.5 * (time.monotonic() - begin))
            decision = guarded.step(lambda state, to=rest + wave: to)
            if decision.is_fault:
                faults[decision.guard] += 1
                break
            entry = guarded.log.last
            assert entry is not None
            assert entry.command is not None
            step = np.abs(entry.command - last)
            out = np.abs(entry.command - entry.state.position)
            unsafe += bool(
                (step > limits.speed * period * (1 + 1e-9)).any()
                or (out > limits.torque / limits.kp * (1 + 1e-9)).any()
                or (entry.command > limits.upper).any()
                or (entry.command < limits.lower).any()
            )
            last = entry.command
            steps += 1
            if steps % 1000 == 0:
                sizes.append((_resident("self"), _resident(str(other))))
        if longest is None or len(guarded.loop.lates) > len(longest.lates):
            longest = guarded.loop
        guarded.brake()
        robot.close()
        log.journal.close()
        rows += log.count
    grown = np.zeros(2)
    if len(sizes) > 3:
        grown = (np.array(sizes[-1]) - np.array(sizes[len(sizes) // 4])) / 1e6
    assert longest is not None
    assert rows == steps
    profile = longest.profile()
    drift = 1e6 * profile.period_error
    return (
        f"soak: {steps} steps in {seconds:.0f} s, {unsafe} unsafe commands, faults "
        f"{dict(faults)}, memory grew by {grown[0]:.2f} MB here and {grown[1]:.2f} MB "
        f"at the robot, {rows} rows on the disk, period off by {drift:.1f} ppm "
        f"in the longest stretch ({profile.beats} steps, {profile.overruns} overruns, "
        f"p99 {profile.p99_us:.0f} µs), packets not used {dict(robot.flaws)}"
    )


def measure_fuzz(seconds: float, count: int = 1_000_000) -> None:
    """Noise, damaged packets, other sessions, replays: nothing may reach the robot."""
    for key in (None, b"k" * 32):
        robot, link = Still(), _Nowhere()
        server = RobotServer(robot, link, ServerSettings(key=key))
        here, nonce = ("10.0.0.1", 1), b"n" * 16
        server.handle(
            packets.encode(Packet(PacketKind.HELLO, 0, 1, 0.0, nonce), key), here, 0
        )
        answer = packets.decode(link.last, key)
        assert isinstance(answer, Packet)
        own = packets.derive_key(key, nonce, answer.payload[:16])

        def make(kind: PacketKind, number: int, payload: bytes, own=own, answer=answer):
            return packets.encode(
                Packet(kind, answer.session, number, 0.0, payload), own
            )

        server.handle(make(PacketKind.CONNECT, 1, b"\0"), here, 0.0)
        used = packets.pack_command(Command(sequence=2, values=np.full(12, 0.5)))
        taken = make(PacketKind.COMMAND, 2, used)
        server.handle(taken, here, 0.0)
        before = dict(robot.calls)
        fresh = make(PacketKind.COMMAND, 3, used)
        rng = np.random.default_rng(0)
        begin = time.perf_counter()
        half = count // 2
        noise = rng.integers(0, 256, 4096 + 400, dtype=np.uint8).tobytes()
        places = rng.integers(0, len(fresh), half)
        bits = rng.integers(1, 256, half)
        starts, lengths = rng.integers(0, 4096, half), rng.integers(0, 400, half)
        for k in range(half):
            kind = k % 4
            if kind == 0:
                data = noise[starts[k] : starts[k] + lengths[k]]
            elif kind == 1:
                data = taken  # replayed
            elif kind == 2:
                data = fresh[: int(lengths[k])] if lengths[k] < len(fresh) else b""
            else:
                changed = bytearray(fresh)
                changed[places[k]] ^= bits[k]
                data = bytes(changed)
            server.handle(data, here if k % 3 else ("10.0.0.2", 2), 0.0)
        spent = time.perf_counter() - begin
        changed = {k: n - before.get(k, 0) for k, n in robot.calls.items()}
        print(
            f"fuzz, {'no key' if key is None else 'with a key'}: {half} packets, "
            f"{1e6 * spent / half:.1f} µs each; reached the robot: "
            f"{sum(changed.values())}; {dict(sorted(server.flaws.items()))}",
            flush=True,
        )
    measure_fuzz_commander(count // 2)


def measure_fuzz_commander(count: int) -> None:
    """Packets that a robot might send, damaged: nothing raises, nothing is believed."""
    nonce = b"r" * packets.NONCE
    description = nonce + packets.pack_info(INFO)
    rng, link = np.random.default_rng(1), _Feeding()
    robot = RemoteRobot(link, timeout=0.2)
    link.answer = lambda number: packets.encode(
        Packet(PacketKind.DESCRIPTION, 7, number, 0.0, description)
    )
    assert robot.info.name == INFO.name
    now = time.monotonic()
    state = packets.pack_state(Still().read(), 0)
    good = packets.encode(Packet(PacketKind.STATE, 7, 5, 1.0, state, now, 0.0))
    link.coming.append(good)
    robot._listen()
    before = robot.read().sequence
    noise = rng.integers(0, 256, 4096 + 400, dtype=np.uint8).tobytes()
    begin = time.perf_counter()
    for k in range(count):
        if k % 3 == 0:
            at, length = rng.integers(0, 4096), rng.integers(0, 400)
            data = noise[at : at + length]
        elif k % 3 == 1:
            changed = bytearray(good)
            changed[int(rng.integers(0, len(good)))] ^= int(rng.integers(1, 256))
            data = bytes(changed)
        else:  # whole, but of times and numbers that cannot be
            strange = rng.choice([np.nan, np.inf, -np.inf, 1e300, -1e9, now + 1e6])
            payload = state[:11] + rng.bytes(len(state) - 11)
            packet = Packet(
                PacketKind.STATE,
                7,
                int(rng.integers(0, 5)),
                strange,
                payload,
                strange,
                -1.0,
            )
            data = packets.encode(packet)
        link.coming.append(data)
        if k % 256 == 0:
            robot._listen()
    robot._listen()
    spent = time.perf_counter() - begin
    print(
        f"fuzz, the commander: {count} packets, {1e6 * spent / count:.1f} µs each; "
        f"newest state {before} → {robot.read().sequence}; "
        f"{dict(sorted(robot.flaws.items()))}",
        flush=True,
    )


EXTREME = (0.0, 5e-324, 1e-300, 1e-9, 1e9, 1e153, 1e155, 1e308, np.inf, np.nan)
"""Beside these, ordinary numbers and the negatives of all."""


def measure_filter(seconds: float, count: int = 1_000_000) -> None:
    """Whatever comes in: out comes a finite command within every limit, or none."""
    kinds: tuple[CommandKind, ...] = ("position", "velocity", "torque", "voltage")
    rng, outside, sent = np.random.default_rng(2), 0, 0
    begin = time.perf_counter()
    each = count // len(kinds)
    for kind in kinds:
        for _ in range(each // 500):
            limit = 10.0 ** rng.uniform(-3, 3, 5)
            speed, acceleration, torque = (
                np.where(rng.random(1) < 0.2, np.inf, value) for value in limit[:3]
            )
            drives = Drives(
                commands=("joint.command",),
                kind=kind,
                joints=(0,),
                command_lower=-limit[3] * np.ones(1),
                command_upper=limit[3] * np.ones(1),
                lower=-limit[4] * np.ones(1),
                upper=limit[4] * np.ones(1),
                speed=speed,
                acceleration=acceleration,
                torque=torque,
                kp=rng.choice([0.0, 10.0]) * np.ones(1),
                kd=np.ones(1),
            )
            gate = CommandFilter(drives, 0.02)
            gate.reset(np.zeros(1))
            values = _draw_extremes(rng, 500)
            for target, q, dq in values:
                found = gate.apply(
                    np.array([target]), np.array([q]), np.array([dq])
                ).command
                if found is None:
                    continue
                sent += 1
                outside += not _is_safe(drives, float(found[0]), q, dq)
    spent = time.perf_counter() - begin
    print(
        f"filter: {each * len(kinds)} extreme cases, {1e6 * spent / count:.1f} µs "
        f"each; {sent} came out, {outside} not finite or beyond a limit",
        flush=True,
    )


def _draw_extremes(rng: np.random.Generator, count: int) -> np.ndarray:
    """(count, 3) targets, positions and speeds."""
    sign = rng.choice([-1.0, 1.0], (count, 3))
    plain = rng.normal(0, 2, (count, 3))
    odd = rng.choice(np.array(EXTREME), (count, 3))
    return np.where(rng.random((count, 3)) < 0.5, sign * odd, plain)


def _is_safe(drives: Drives, command: float, q: float, dq: float) -> bool:
    """By the limits themselves, not by the filter's own stages."""
    low, high = float(drives.command_lower[0]), float(drives.command_upper[0])
    if not (np.isfinite(command) and low <= command <= high):
        return False
    if not (np.isfinite(q) and np.isfinite(dq)):
        return False
    if drives.kind == "position":
        return bool(drives.lower[0] <= command <= drives.upper[0])
    if drives.kind == "velocity":
        if abs(command) > drives.speed[0]:
            return False
        outwards = (q >= drives.upper[0] and command > 0) or (
            q <= drives.lower[0] and command < 0
        )
        return not outwards
    if drives.kind == "torque" and abs(command) > drives.torque[0]:
        return False
    outwards = (q >= drives.upper[0] and command > 0) or (
        q <= drives.lower[0] and command < 0
    )
    faster = abs(dq) >= drives.speed[0] and command * dq > 0
    return not (outwards or faster)


class _Feeding(PacketLink):
    """Hands out what a test puts in, and answers the question who is there."""

    def __init__(self) -> None:
        self.coming: deque[bytes] = deque()
        self.answer: Callable[[int], bytes] = lambda number: b""

    @property
    def address(self) -> str:
        return "feeding:"

    def send(self, data: bytes, peer: object) -> None:
        found = packets.decode(data)
        if isinstance(found, Packet) and found.kind is PacketKind.HELLO:
            self.coming.append(self.answer(found.sequence))

    def receive(self, timeout: float = 0.0) -> tuple[bytes, Hashable] | None:
        return (self.coming.popleft(), None) if self.coming else None

    def close(self) -> None:
        pass


class _Nowhere(PacketLink):
    """Keeps the last packet."""

    last = b""

    @property
    def address(self) -> str:
        return "nowhere:"

    def send(self, data: bytes, peer: object) -> None:
        self.last = data

    def receive(self, timeout: float = 0.0) -> None:
        return None

    def close(self) -> None:
        pass


def make_guarded(
    robot: Robot, period: float, clock: Clock, log: TrialLog | None = None
) -> GuardedRobot:
    count = len(robot.info.joints)
    limits = Limits(
        joints=robot.info.joints,
        lower=np.full(count, -2.9),
        upper=np.full(count, 2.9),
        speed=np.full(count, 8.0),
        acceleration=np.full(count, 80.0),
        torque=np.full(count, 12.0),
    )
    gains = dict.fromkeys(robot.info.joints, 13.0)
    drives = make_drives(robot.info, limits, kp=gains)
    # Faults of the loop are counted here, not acted on: the machine may be busy.
    patient = WatchdogSettings(overruns_in_a_row=10**6, overrun_share=1.0, stall=2)
    settings = GuardSettings(watchdogs=patient)
    return GuardedRobot(robot, drives, period, clock, settings, log=log)


def save_network(path: Path, widths: tuple[int, ...]) -> None:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng, nodes, constants, name = np.random.default_rng(0), [], [], "obs"
    for i, (a, b) in enumerate(itertools.pairwise(widths)):
        weights = rng.normal(0, a**-0.5, (b, a)).astype(np.float32)
        constants += [
            numpy_helper.from_array(weights, f"W{i}"),
            numpy_helper.from_array(np.zeros(b, np.float32), f"b{i}"),
        ]
        last = i == len(widths) - 2
        out = "action" if last else f"h{i}"
        nodes.append(
            helper.make_node("Gemm", [name, f"W{i}", f"b{i}"], [out], transB=1)
        )
        name = out
        if not last:
            nodes.append(helper.make_node("Elu", [out], [f"e{i}"]))
            name = f"e{i}"
    ports = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, w])
        for n, w in (("obs", widths[0]), ("action", widths[-1]))
    ]
    graph = helper.make_graph(nodes, "mlp", ports[:1], ports[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, str(path))


def _resident(process: str) -> int:
    """[bytes]"""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


_ECHO = """
from realworthy.robots.udp import UdpLink
link = UdpLink.listen("127.0.0.1", 0)
print(link.address.rpartition(":")[2], flush=True)
while True:
    found = link.receive(1.0)
    if found is not None:
        link.send(*found)
"""
PARTS: dict[str, Callable[[float], None]] = {
    "inference": measure_inference,
    "lateness": measure_lateness,
    "wire": measure_wire,
    "soak": measure_soak,
    "fuzz": measure_fuzz,
    "filter": measure_filter,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, nargs="*", default=list(PARTS))
    parser.add_argument("--seconds", type=float, default=60.0, help="soak and lateness")
    arguments = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for name in arguments.only:
        PARTS[name](arguments.seconds)


if __name__ == "__main__":
    main()
