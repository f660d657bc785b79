"""The algebra of inverse kinematics: Jacobians, boxes, the quadratic program."""

import numpy as np
import pytest

from realworthy.retargeting.body_map import list_maps
from realworthy.retargeting.figure import load_figure
from realworthy.retargeting.robot_figure import Carried, RobotFigure, build_robot
from realworthy.twins import load_twin

from .conftest import NO_SOLVER

mink = pytest.importorskip("mink", reason=NO_SOLVER)


@pytest.fixture(scope="module")
def robot() -> RobotFigure:
    figure = load_figure("human")
    return build_robot(load_twin("humanoid"), list_maps()["humanoid"], figure)


def differentiate(task: object, configuration: object, nv: int) -> np.ndarray:
    """(errors, nv) by central differences."""
    import mujoco

    start = configuration.data.qpos.copy()
    columns = []
    for k in range(nv):
        ends = []
        for step in (1e-6, -1e-6):
            qpos, move = start.copy(), np.zeros(nv)
            move[k] = step
            mujoco.mj_integratePos(configuration.model, qpos, move, 1.0)
            configuration.update(qpos)
            ends.append(task.compute_error(configuration))
        columns.append((ends[0] - ends[1]) / 2e-6)
    configuration.update(start)
    return np.stack(columns, axis=1)


def test_jacobians_are_derivatives_of_errors(robot: RobotFigure):
    from realworthy.retargeting.tasks import JointsTask, PlacesTask, TurnsTask

    configuration = mink.Configuration(robot.model, robot.home)
    places = PlacesTask([*robot.points.values(), Carried(robot.trunk, robot.centre)])
    count = len(robot.points) + 1
    places.aim(np.zeros((count, 3)), np.ones(count))
    bodies = [foot.body for foot in robot.feet.values()]
    turns = TurnsTask(bodies)
    home = configuration.data.xmat[bodies].reshape(-1, 3, 3).copy()
    turns.aim(home, np.ones((2, 3)))
    for task in (places, turns, JointsTask(robot, 1.0)):
        found = task.compute_jacobian(configuration)
        expected = differentiate(task, configuration, robot.model.nv)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_step_is_the_best_one_within_the_box(robot: RobotFigure):
    """Against scipy's bounded least squares, an algorithm of its own."""
    from scipy.optimize import lsq_linear

    from realworthy.retargeting.tasks import JointBox, PlacesTask

    configuration = mink.Configuration(robot.model, robot.home)
    places = PlacesTask(list(robot.points.values()))
    count = len(robot.points)
    wanted = np.random.default_rng(3).uniform(-0.5, 0.5, size=(count, 3))
    places.aim(wanted, np.linspace(1, 2, count))
    box, reach = JointBox(robot), 1e-3
    box.hold(robot.home[robot.qpos], reach)
    found = mink.solve_ik(
        configuration, [places], 1.0, "daqp", damping=1e-4, limits=[box]
    )
    jacobian, error, mu = places.compute_qp_residual(configuration)
    assert mu == 0
    nv = robot.model.nv
    low, high = np.full(nv, -np.inf), np.full(nv, np.inf)
    q = robot.home[robot.qpos]
    low[robot.dofs], high[robot.dofs] = box.lower - q, box.upper - q
    matrix = np.vstack([jacobian, 1e-2 * np.eye(nv)])
    best = lsq_linear(matrix, np.concatenate([error, np.zeros(nv)]), (low, high))
    np.testing.assert_allclose(found, best.x, atol=1e-6)
    speed = np.abs(found[robot.dofs]) / reach
    assert (speed <= robot.speed_limits + 1e-6).all()


def test_the_floor_is_measured_to_the_lowest_corner(robot: RobotFigure):
    from realworthy.retargeting.tasks import FloorLimit

    configuration = mink.Configuration(robot.model, robot.home)
    floor = FloorLimit(robot)
    expected = robot.home[2] + robot.centre[2] - robot.height
    assert floor.measure(configuration.data).min() == pytest.approx(expected, abs=2e-3)
    rows = floor.compute_qp_inequalities(configuration, 1.0)
    assert rows.G is not None
    np.testing.assert_allclose(rows.G[:, 2], -1.0)  # the base lifts every corner
