"""Worlds on MuJoCo Warp: on its CPU device everywhere, on CUDA where there is one."""

import importlib
import sys

import numpy as np
import pytest

from realworthy.errors import BadModel, MissingExtra, RealworthyError, UnknownName
from realworthy.simulators import MujocoCpu, Outcome, Simulator, record
from realworthy.simulators.conformance import CHECKS, SINGLE, check_simulator
from realworthy.simulators.conformance.robot import (
    bind_twin,
    build_twin,
    make_commands,
    play,
    single_changes,
    start,
)
from realworthy.simulators.simulator import to_numpy
from realworthy.twins import BoundTwin, bind, load_twin
from tests.simulators.robots import FALLING_BOX, make_twin

wp = pytest.importorskip("warp", reason="MujocoGpu needs warp")
pytest.importorskip("mujoco_warp", reason="MujocoGpu needs mujoco_warp")
torch = pytest.importorskip("torch", reason="its arrays are tensors")

from realworthy.simulators.mujoco_gpu import MujocoGpu  # noqa: E402
from realworthy.simulators.warp.loop import (  # noqa: E402
    estimate_constraints,
    estimate_contacts,
)

HAS_CUDA = wp.is_cuda_available()
on_cuda = [
    pytest.mark.gpu,
    pytest.mark.skipif(not HAS_CUDA, reason="there is no CUDA device"),
]
DEVICES = ["cpu", pytest.param("cuda", marks=on_cuda)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CHECKS)
def test_gpu_keeps_the_promise(name, device):
    def build(bound: BoundTwin, world_count: int, substeps: int) -> Simulator:
        return MujocoGpu(
            bound, world_count, substeps=substeps, device=device, deterministic=True
        )

    report = check_simulator(build, tolerance=SINGLE, only=[name])
    assert report.passed, report


@pytest.mark.parametrize("device", DEVICES)
def test_a_quadruped_on_its_feet_moves_as_on_the_cpu(device):
    twin = load_twin("quadruped")
    kinds = ("mass", "centre_of_mass", "damping", "kp")
    names = [p.name for p in twin.belief.space if p.kind in kinds]
    belief = twin.belief.marginal([*names, "all.delay", "all.contact_friction"])
    bound = bind(twin, belief.space)
    samples = belief.sample(4, seed=3)
    home = bound.compiled.own["own.initial_ctrl"]
    t = np.arange(50)[:, None]
    commands = home + 0.15 * np.sin(0.3 * t + np.arange(12))  # one second of shuffling
    traces = []
    for simulator in (MujocoCpu(bound, 4), MujocoGpu(bound, 4, device=device)):
        simulator.write(samples)
        simulator.reset()
        traces.append(play(simulator, commands))
        assert not simulator.outcomes().any()
    cpu, gpu = traces
    assert np.abs(cpu.qpos - cpu.qpos[:, :1]).max() > 0.01  # each world its own way
    assert np.abs(cpu.qpos - gpu.qpos).max() < 1e-4


@pytest.fixture(scope="module")
def simulator() -> MujocoGpu:
    return MujocoGpu(bind_twin(), 3, device="cpu")


def test_arrays_are_tensors_that_numpy_and_torch_share(simulator):
    qpos = simulator.array("qpos")
    assert isinstance(qpos, torch.Tensor)
    assert qpos.dtype == torch.float32
    assert np.shares_memory(np.asarray(qpos), np.from_dlpack(qpos))
    assert simulator.array("xmat").shape == (3, 4, 9)
    with pytest.raises(UnknownName, match="Nearest: 'qpos'"):
        simulator.array("qpo")


def test_commands_may_be_tensors_rows_or_lists(simulator):
    positions = []
    for command in (
        torch.full((3, 2), 0.4),
        torch.tensor([0.4, 0.4], dtype=torch.float64),
        np.full((3, 2), 0.4),
        [0.4, 0.4],
    ):
        simulator.reset()
        simulator.step(command)
        positions.append(to_numpy(simulator.array("qpos")).copy())
    assert all(np.array_equal(p, positions[0]) for p in positions)


def test_reset_takes_masks_rows_and_tensors(simulator):
    simulator.reset()
    rows = np.tile(to_numpy(simulator.array("qpos")), (1, 1))
    rows[:, 0] = [0.1, 0.2, 0.3]
    simulator.reset(torch.tensor([True, False, True]), qpos=torch.from_numpy(rows))
    assert to_numpy(simulator.array("qpos"))[:, 0] == pytest.approx([0.1, 0.0, 0.3])
    simulator.reset([2, 1], qpos=rows[[1, 2]])
    assert to_numpy(simulator.array("qpos"))[:, 0] == pytest.approx([0.1, 0.3, 0.2])


def test_beginning_is_a_reset_that_leaves_other_worlds_alone():
    twin = load_twin("quadruped")
    home = bind(twin).compiled.nominal("own.initial_qpos")
    qpos = np.tile(home, (3, 1))
    qpos[:, 2] += [0.02, 0.0, 0.05]
    qvel = np.zeros((3, 18))
    qvel[:, 6:] = 0.3
    mask = torch.tensor([True, False, True])
    command = torch.tensor(bind(twin).compiled.nominal("own.initial_ctrl"))
    seen = []
    for way in ("reset", "begin"):
        simulator = MujocoGpu(twin, 3, device="cpu", deterministic=True)
        for _ in range(5):
            simulator.step(command.repeat(3, 1))
        before = to_numpy(simulator.array("sensordata")).copy()
        getattr(simulator, way)(mask, qpos=qpos, qvel=qvel)
        now = to_numpy(simulator.array("sensordata")).copy()
        assert np.array_equal(now[1], before[1])
        of_joints = [
            i
            for i, name in enumerate(simulator.signals)
            if name.endswith((".position", ".velocity")) or "orientation" in name
        ]
        simulator.step(command.repeat(3, 1))
        after = to_numpy(simulator.array("sensordata")).copy()
        seen.append((now[:, of_joints], after))
    for first, second in zip(*seen, strict=True):
        assert np.allclose(first, second, atol=1e-5)


def test_positions_set_by_hand_are_followed_after_refresh(simulator):
    simulator.reset()
    simulator.array("qpos")[:, 1] = torch.tensor([0.3, -0.2, 0.1])
    simulator.refresh()
    seen = to_numpy(simulator.sensor("elbow.position"))[:, 0]
    assert seen == pytest.approx([0.3, -0.2, 0.1])


def test_record_plays_worlds_of_the_gpu(simulator):
    simulator.reset()
    recordings = record(simulator, make_commands(10))
    assert len(recordings) == 3
    assert recordings[0].signals["elbow.position"].shape == (10,)


def test_a_field_is_read_back_and_cannot_be_written(simulator):
    samples = single_changes(simulator.bound.space)[:3]
    simulator.write(samples)
    damping = simulator.field("dof_damping")[:, 0]
    assert damping == pytest.approx([0.6, 0.2, 0.2])
    with pytest.raises(ValueError, match="read-only"):
        damping[0] = 1.0
    assert simulator.field("geom_size").shape == (3, 2, 3)
    with pytest.raises(RealworthyError, match="does not keep 'dof_M0'"):
        simulator.field("dof_M0")
    with pytest.raises(UnknownName, match="no field 'dof_dampin'"):
        simulator.field("dof_dampin")


def test_more_constraints_than_room_is_an_outcome():
    simulator = MujocoGpu(
        bind_twin(), 2, device="cpu", contacts_per_world=8, constraints_per_world=8
    )
    play(simulator, np.zeros((5, 2)))
    assert simulator.outcomes().tolist() == [Outcome.CONTACT_OVERFLOW] * 2
    assert simulator.array("outcome").tolist() == [Outcome.CONTACT_OVERFLOW] * 2


def test_runge_kutta_moves_as_on_the_cpu():
    twin = build_twin()
    twin.base_spec.option.integrator = 1
    bound, commands = bind(twin), make_commands(20)
    traces = []
    for simulator in (MujocoCpu(bound, 2), MujocoGpu(bound, 2, device="cpu")):
        start(simulator, bound.space.nominal[None], commands[0])
        traces.append(play(simulator, commands))
    assert np.abs(traces[0].qpos - traces[1].qpos).max() < SINGLE
    assert np.abs(traces[0].sensordata - traces[1].sensordata).max() < 50 * SINGLE


def test_a_parameter_that_all_worlds_share_is_refused_by_name():
    xml = FALLING_BOX.replace(
        "<worldbody>",
        '<asset><hfield name="hills" nrow="3" ncol="3" size="1 1 0.2 0.1" '
        'elevation="0 1 0 1 0 1 0 1 0"/></asset><worldbody>'
        '<geom name="hills" type="hfield" hfield="hills"/>',
    )
    twin = make_twin(xml)
    bound = bind(twin, twin.space.select(["box.mass", "hills.terrain_height"]))
    with pytest.raises(RealworthyError, match=r"'hills\.terrain_height'.*hfield_size"):
        MujocoGpu(bound, 2, device="cpu")


def test_a_model_that_warp_cannot_run_is_refused_with_its_reason():
    twin = build_twin()
    twin.base_spec.option.enableflags = 1 << 7  # a flag that Warp does not have
    with pytest.raises(BadModel, match="MuJoCo Warp cannot run twin 'conformance'"):
        MujocoGpu(bind(twin), 2, device="cpu")


def test_room_follows_the_model():
    model = load_twin("quadruped").compiled.model
    contacts = estimate_contacts(model)
    assert 32 <= contacts <= 64
    rows = estimate_constraints(model, contacts, friction_moves=False)
    assert rows == estimate_constraints(model, contacts, friction_moves=True) - 8
    assert 64 <= rows <= 160


def test_without_warp_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco_warp", None)
    monkeypatch.delitem(sys.modules, "realworthy.simulators.mujoco_gpu")
    with pytest.raises(MissingExtra, match=r"pip install 'realworthy\[gpu\]'"):
        importlib.import_module("realworthy.simulators.mujoco_gpu")


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_CUDA, reason="there is no CUDA device")
def test_a_step_with_tensors_does_not_wait_for_the_gpu():
    simulator = MujocoGpu(load_twin("quadruped"), 4096, device="cuda")
    command = torch.zeros((4096, 12), device="cuda")
    mask = torch.zeros(4096, dtype=torch.bool, device="cuda")
    mask[::7] = True
    simulator.step(command)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(5):
            simulator.step(command)
            simulator.reset(mask)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert simulator.array("time")[0] == 0.0


def test_a_device_that_is_not_there_is_named_beside_those_that_are():
    with pytest.raises(RealworthyError, match=r"no device 'tpu'.\n  There are: cpu"):
        MujocoGpu(load_twin("pendulum"), 1, device="tpu")
