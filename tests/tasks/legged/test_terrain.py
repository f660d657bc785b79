"""Uneven ground: the heights that tensors tell are those that rays find."""

import mujoco
import numpy as np
import pytest
import torch

from realworthy.errors import RealworthyError
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.environment.worlds import TaskWorlds
from realworthy.tasks.legged.locomotion import BaseState
from realworthy.tasks.legged.quadruped import QuadrupedSettings, QuadrupedVelocity
from realworthy.tasks.legged.terrain import KINDS, Terrain, TerrainSettings, Walkers
from realworthy.twins import load_twin

SMALL = TerrainSettings(levels=3, tile=3.0)


def build(
    world_count: int, *, is_practice: bool = False, terrain: TerrainSettings = SMALL
) -> tuple[TaskWorlds, QuadrupedVelocity]:
    task = QuadrupedVelocity(settings=QuadrupedSettings(terrain=terrain, seconds=2.0))
    worlds = TaskWorlds(task, world_count, thread_count=1, is_practice=is_practice)
    return worlds, task


def walkers_of(task: QuadrupedVelocity) -> Walkers:
    assert task.walkers is not None
    return task.walkers


def make_motion(
    scene: Scene, velocity: tuple[float, float], position: tuple[float, float] = (0, 0)
) -> BaseState:
    count = scene.world_count
    zeros = torch.zeros(count, 3)
    turned = torch.tensor([0.5**0.5, 0, 0, 0.5**0.5]).repeat(count, 1)  # looks along y
    return BaseState(
        position=torch.tensor([*position, 1.0]).repeat(count, 1),
        orientation=turned,
        velocity=torch.tensor([*velocity, 0.0]).repeat(count, 1),
        turning=zeros,
        gravity=zeros,
    )


def test_rays_find_the_ground_where_it_is_said_to_be() -> None:
    worlds, task = build(1)
    model = worlds.bound.model
    data = mujoco.MjData(model)
    data.qpos[:3] = [0, 0, 50]  # the robot is out of the way
    mujoco.mj_forward(model, data)
    rng = np.random.default_rng(0)
    cell = SMALL.cell
    grid = rng.integers(1, [3 * 30, 3 * 30], (300, 2)) * cell - 4.5
    said = walkers_of(task).find_height(torch.tensor(grid, dtype=torch.float32))
    ray = np.zeros(1, np.int32)
    for place, height in zip(grid, said.tolist(), strict=True):
        start, down = np.array([*place, 5.0]), np.array([0.0, 0.0, -1.0])
        # a hair beside the corner of four cells, where a ray may slip through
        start[:2] += 1e-5
        found = mujoco.mj_ray(model, data, start, down, None, 1, -1, ray, None)
        assert 5.0 - found == pytest.approx(height, abs=2e-4), place
    assert float(said.max()) > 0.1


def test_harder_levels_are_higher_and_platforms_are_flat() -> None:
    terrain = Terrain(SMALL)
    cells = terrain.cells
    for kind in range(len(KINDS)):
        rows = slice(kind * cells, (kind + 1) * cells)
        tops = [
            terrain.heights[rows, level * cells : (level + 1) * cells].max()
            for level in range(3)
        ]
        assert tops == sorted(tops)
        assert tops[0] > 0
        assert tops[2] == pytest.approx(3 * tops[0], rel=0.05)
        middle = kind * cells + cells // 2
        for level in range(3):
            column = level * cells + cells // 2
            near = terrain.heights[middle - 4 : middle + 5, column - 4 : column + 5]
            assert not near.any()
    # halfway up: 0.5 m of free way at slope 0.4; three treads of 0.3 m would need 0.9
    assert terrain.heights[cells : 2 * cells].max() == pytest.approx(0.2)
    assert terrain.heights[2 * cells :].max() == pytest.approx(0.12)


def test_worlds_stand_on_their_own_tiles() -> None:
    worlds, task = build(6, is_practice=True)
    walkers = walkers_of(task)
    walkers.level = torch.tensor([0, 0, 0, 2, 2, 2])
    worlds.reset()
    for _ in range(25):
        step = worlds.step(torch.zeros(6, 12))
    assert not step.terminated.any()
    at = worlds.scene.qpos[:, :2].numpy()
    wanted = [[-3, -3], [-3, 0], [-3, 3], [3, -3], [3, 0], [3, 3]]
    assert np.abs(at - wanted).max() < 0.3
    scan = task.observe_privileged(worlds.scene)[:, 8:]
    assert scan.shape == (6, 9)
    assert scan[0].numpy() == pytest.approx(0.287, abs=0.03)


def test_who_walks_goes_up_and_who_does_not_goes_down() -> None:
    worlds, task = build(4)
    walkers, scene = walkers_of(task), worlds.scene
    walkers.level = torch.tensor([0, 1, 1, 2])
    speeds = torch.tensor([0.9, 0.45, 0.7, 0.9])  # of 1 m/s asked, for 2 s
    for k in range(4):
        motion = make_motion(scene, (0.0, float(speeds[k])))
        command = torch.tensor([[0.0, 1.0, 0.5]]).repeat(4, 1)
        one = Walkers(scene, walkers.terrain)
        one.level = walkers.level.clone()
        for _ in range(100):
            one.advance(motion, command)
        assert float(one.walked[k]) == pytest.approx(2 * float(speeds[k]), rel=1e-4)
        assert float(one.asked[k]) == pytest.approx(2.0, rel=1e-4)
        one.begin(torch.ones(4, dtype=torch.bool), is_practice=True)
        # 1.8 m is more than half a tile; 0.9 m less than half of 2 m; 1.4 m neither
        wanted = [1, 0, 1, 2][k]
        assert int(one.level[k]) == wanted
        assert not one.walked.any()


@pytest.mark.parametrize("levels", [1, 2, 3, 6])
def test_worlds_that_are_no_practice_are_spread_over_all_tiles(levels: int) -> None:
    count = 2 * levels * len(KINDS)
    terrain = TerrainSettings(levels=levels, tile=2.0)
    worlds, task = build(count, terrain=terrain)
    walkers = walkers_of(task)
    assert walkers.level[:levels].tolist() == list(range(levels))
    tiles = walkers.level * len(KINDS) + walkers.kind
    assert torch.bincount(tiles).tolist() == [2] * (levels * len(KINDS))
    middle = walkers.terrain.find_middle(walkers.level, walkers.kind)
    assert float((worlds.scene.qpos[:, :2] - middle).abs().max()) < 0.3


def test_worlds_that_are_no_practice_stay_on_their_level() -> None:
    worlds, task = build(6)
    walkers, first = walkers_of(task), worlds.observations
    before = walkers.level.clone()
    walkers.walked = torch.full((6,), 2.0)  # [m], more than half a tile
    worlds.reset()
    assert torch.equal(walkers.level, before)
    worlds.rewind()
    again = worlds.reset()
    assert torch.equal(walkers.level, before)
    for group, seen in first.items():
        assert torch.equal(again[group], seen)


def test_practice_begins_on_the_first_level_and_goes_up() -> None:
    worlds, task = build(6, is_practice=True)
    walkers = walkers_of(task)
    assert not walkers.level.any()
    walkers.walked = torch.tensor([2.0, 0.0] * 3)
    worlds.reset()
    assert walkers.level.tolist() == [1, 0] * 3


def test_the_scan_turns_with_the_robot_and_has_a_mirror_image() -> None:
    worlds, task = build(1)
    walkers = walkers_of(task)
    # on the slope of the middle column, looking along y: left is −x
    motion = make_motion(worlds.scene, (0, 0), position=(3.0, 0.8))
    scan = walkers.scan(motion)[0]
    for i, (ahead, left) in enumerate(
        (x, y) for x in (-0.3, 0.0, 0.3) for y in (-0.2, 0.0, 0.2)
    ):
        place = torch.tensor([3.0 - left, 0.8 + ahead])
        wanted = 1.0 - float(walkers.find_height(place))
        assert float(scan[i]) == pytest.approx(wanted, abs=1e-5)
    seen = torch.arange(worlds.groups["privileged"].size, dtype=torch.float32)
    twice = worlds.mirror("privileged", worlds.mirror("privileged", seen))
    assert torch.equal(twice, seen)


def test_terrain_that_cannot_be_is_refused() -> None:
    with pytest.raises(RealworthyError, match="cannot begin on level 6"):
        TerrainSettings(start=6)
    with pytest.raises(RealworthyError, match="too small or too coarse"):
        TerrainSettings(tile=1.0)

    def add_floor(spec: mujoco.MjSpec) -> None:
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1])

    with pytest.raises(RealworthyError, match="the model has 2"):
        Terrain(SMALL).add_to(load_twin("quadruped").edited(add_floor))
