"""What MuJoCo Warp has no kernel for: to start, push and quarantine worlds."""

# pyright: reportInvalidTypeForm=false, reportOperatorIssue=false, reportIndexIssue=false

import warp as wp

from realworthy.simulators.simulator import Outcome

wp.set_module_options({"enable_backward": False})

_OK = wp.constant(int(Outcome.OK))
_DIVERGED = wp.constant(int(Outcome.DIVERGED))
_OVERFLOW = wp.constant(int(Outcome.CONTACT_OVERFLOW))
_MAX_STATE_VALUE = wp.constant(1.0e10)
"""mjMAXVAL: MuJoCo calls a state bad beyond it."""


@wp.func
def is_bad(value: float) -> bool:
    return not (wp.abs(value) < _MAX_STATE_VALUE)  # NaN compares false


@wp.kernel
def scatter_rows(
    rows: wp.array2d[float],
    worlds: wp.array[int],
    first: int,
    field: wp.array2d[float],
):
    """Columns from `first` on of each row into the field of its world."""
    i, column = wp.tid()
    field[worlds[i], column] = rows[i, first + column]


@wp.kernel
def keep_rows(marked: wp.array[bool], kept: wp.array2d[int], values: wp.array2d[int]):
    """Puts back what worlds that are not marked had; numbers of 32 bits of any kind."""
    world, column = wp.tid()
    if not marked[world]:
        values[world, column] = kept[world, column]


@wp.kernel
def start_worlds(
    marked: wp.array[bool],
    start_qpos: wp.array2d[float],
    start_qvel: wp.array2d[float],
    start_ctrl: wp.array2d[float],
    qpos: wp.array2d[float],
    qvel: wp.array2d[float],
    ctrl: wp.array2d[float],
    outcome: wp.array[int],
):
    world = wp.tid()
    if not marked[world]:
        return
    for i in range(qpos.shape[1]):
        qpos[world, i] = start_qpos[world, i]
    for i in range(qvel.shape[1]):
        qvel[world, i] = start_qvel[world, i]
    for i in range(ctrl.shape[1]):
        ctrl[world, i] = start_ctrl[world, i]
    outcome[world] = _OK


@wp.kernel
def fill_command_histories(
    marked: wp.array[bool],
    first_control: wp.array[int],
    width: wp.array[int],
    samples: wp.array[int],
    address: wp.array[int],
    ctrl: wp.array2d[float],
    history: wp.array2d[float],
):
    """The present command in every place of its buffer; times stay."""
    world, actuator = wp.tid()
    count = samples[actuator]
    if not marked[world] or count <= 0:
        return
    first = address[actuator] + 2 + count  # user value, cursor, times, values
    for k in range(count * width[actuator]):
        value = ctrl[world, first_control[actuator] + k % width[actuator]]
        history[world, first + k] = value


@wp.kernel
def fill_sensor_histories(
    marked: wp.array[bool],
    first_value: wp.array[int],
    width: wp.array[int],
    samples: wp.array[int],
    address: wp.array[int],
    sensordata: wp.array2d[float],
    history: wp.array2d[float],
):
    """The present measurement in every place of its buffer; times stay."""
    world, sensor = wp.tid()
    count = samples[sensor]
    if not marked[world] or count <= 0:
        return
    first = address[sensor] + 2 + count
    history[world, address[sensor]] = 0.0
    for k in range(count * width[sensor]):
        value = sensordata[world, first_value[sensor] + k % width[sensor]]
        history[world, first + k] = value


@wp.kernel
def apply_pushes(
    push: wp.array3d[float],
    time: wp.array[float],
    force: wp.array3d[float],
):
    """Force on each body (worlds, bodies, 6) from x, y, z, start, duration."""
    world, body = wp.tid()
    start = push[world, body, 3]
    ends = start + push[world, body, 4]
    acts = time[world] >= start and time[world] < ends
    for axis in range(3):
        force[world, body, axis] = wp.where(acts, push[world, body, axis], 0.0)


@wp.kernel
def check_commands(ctrl: wp.array2d[float], outcome: wp.array[int]):
    """A command that is not a number ends a world; one that has ended gets zeros."""
    world = wp.tid()
    for i in range(ctrl.shape[1]):
        if is_bad(ctrl[world, i]):
            outcome[world] = _DIVERGED
    if outcome[world] == _DIVERGED:
        for i in range(ctrl.shape[1]):
            ctrl[world, i] = 0.0


@wp.kernel
def quarantine(
    overflow_bits: int,
    rest_qpos: wp.array2d[float],
    qacc: wp.array2d[float],
    overflow: wp.array[int],
    qpos: wp.array2d[float],
    qvel: wp.array2d[float],
    act: wp.array2d[float],
    warmstart: wp.array2d[float],
    time: wp.array[float],
    still_since: wp.array[float],
    outcome: wp.array[int],
):
    """Notes worlds that went wrong; those that diverged stand still at their start."""
    world = wp.tid()
    if outcome[world] == _OK and (overflow[world] & overflow_bits) != 0:
        outcome[world] = _OVERFLOW
    for i in range(qpos.shape[1]):
        if is_bad(qpos[world, i]):
            outcome[world] = _DIVERGED
    for i in range(qvel.shape[1]):
        if is_bad(qvel[world, i]) or is_bad(qacc[world, i]):
            outcome[world] = _DIVERGED
    if outcome[world] != _DIVERGED:
        still_since[world] = time[world]
        return
    time[world] = still_since[world]
    for i in range(qpos.shape[1]):
        qpos[world, i] = rest_qpos[world, i]
    for i in range(qvel.shape[1]):
        qvel[world, i] = 0.0
        warmstart[world, i] = 0.0
    for i in range(act.shape[1]):
        act[world, i] = 0.0
