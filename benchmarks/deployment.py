"""How quick, how punctual and how safe deployment is, on this machine.

    python benchmarks/deployment.py                        # a few minutes
    python benchmarks/deployment.py --only soak --seconds 600

Parts: `inference` (a policy of 3 × 256, and all of a guarded step), `lateness` (a loop
of 500 Hz, as it is and with FIFO), `wire` (a packet to a second process and back),
`soak` (200 Hz with 10 % loss each way against `realworthy robot`), `fuzz` (a million
broken and hostile packets). Quote figures of an idle machine only.
"""

import argparse
import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from realworthy.deployment import (
    Guarded,
    GuardSettings,
    Loop,
    Phase,
    RealTimeSettings,
    WatchdogSettings,
    make_drives,
    real_time,
)
from realworthy.robots import Command, Mode, Robot, RobotInfo, State, packets
from realworthy.robots.address import parse_address, reach
from realworthy.robots.clock import MonotonicClock, SteppedClock
from realworthy.robots.limits import Limits
from realworthy.robots.link import Link
from realworthy.robots.packets import Kind, Packet
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
                packet = Packet(Kind.STATE, 1, 1, 0.0, state)
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
        found = soak(robot, seconds)
        robot.release()
    finally:
        child.terminate()
        said = child.stdout.read()
        child.wait(10)
    print(found)
    print("    robot:", said.strip())


def soak(robot: RemoteRobot, seconds: float) -> str:
    """What went wrong, what was unsafe, what grew."""
    period, faults, unsafe, steps = 0.005, Counter[str](), 0, 0
    begin = time.monotonic()
    sizes: list[int] = []
    longest: Loop | None = None
    while time.monotonic() - begin < seconds:
        guarded = make_guarded(robot, period, MonotonicClock())
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
            entry = guarded.log.entries.pop()
            guarded.log.entries.clear()
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
                sizes.append(_resident())
        if longest is None or len(guarded.loop.lates) > len(longest.lates):
            longest = guarded.loop
        guarded.brake()
        robot.close()
    grown = (sizes[-1] - sizes[len(sizes) // 4]) / 1e6 if len(sizes) > 3 else 0.0
    assert longest is not None
    profile = longest.profile()
    drift = 1e6 * profile.period_error
    return (
        f"soak: {steps} steps in {seconds:.0f} s, {unsafe} unsafe commands, faults "
        f"{dict(faults)}, memory grew by {grown:.2f} MB, period off by {drift:.1f} ppm "
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
            packets.encode(Packet(Kind.HELLO, 0, 1, 0.0, nonce), key), here, 0
        )
        answer = packets.decode(link.last, key)
        assert isinstance(answer, Packet)
        own = packets.derive_key(key, nonce, answer.payload[:16])

        def make(kind: Kind, number: int, payload: bytes, own=own, answer=answer):
            return packets.encode(
                Packet(kind, answer.session, number, 0.0, payload), own
            )

        server.handle(make(Kind.CONNECT, 1, b"\0"), here, 0.0)
        used = packets.pack_command(Command(sequence=2, values=np.full(12, 0.5)))
        taken = make(Kind.COMMAND, 2, used)
        server.handle(taken, here, 0.0)
        before = dict(robot.calls)
        fresh = make(Kind.COMMAND, 3, used)
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


class _Nowhere(Link):
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


def make_guarded(robot: Robot, period: float, clock: object) -> Guarded:
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
    return Guarded(robot, drives, period, clock, settings)  # pyright: ignore


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


def _resident() -> int:
    """[bytes]"""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
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
