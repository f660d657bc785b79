"""Uneven ground: one height field of tiles, harder from row to row, and who is where.

Rows are levels along x, columns kinds of ground along y. Every tile has a flat platform
in its middle, where episodes begin, and meets its neighbours at height zero. Beyond the
tiles the floor goes on, a little lower.
"""

import math
from dataclasses import dataclass

import mujoco
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.legged.locomotion import BaseState
from realworthy.twins import Twin

KINDS = ("rough", "slope", "stairs")
_PLATFORM = 0.5
"""[m] from the middle of a tile to the end of its platform."""
_TREAD = 0.3
"""[m] depth of a stair."""
_DROP = 0.05
"""[m] by which the floor beyond the tiles lies lower."""
_SCAN = tuple((x, y) for x in (-0.3, 0.0, 0.3) for y in (-0.2, 0.0, 0.2))
"""[m] ahead and to the left: where the ground is looked at."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class TerrainSettings:
    """The hardest tiles, and how many there are on the way to them."""

    levels: int = 6
    """Rows; the first is one `levels`-th as hard as the last."""
    tile: float = 6.0
    """[m] side of a tile."""
    cell: float = 0.1
    """[m] between two heights."""
    roughness: float = 0.1
    """[m] between low and high of rough ground."""
    slope: float = 0.4
    """Rise over run."""
    step: float = 0.12
    """[m] of a stair."""
    start: int = 0
    """Level that worlds begin on in practice; others are spread over all levels."""
    seed: int = 0
    """Of rough ground."""

    def __post_init__(self) -> None:
        if not (self.levels >= 1 and 0 <= self.start < self.levels):
            raise RealworthyError(
                f"Terrain of {self.levels} levels cannot begin on level {self.start}.",
                hint="Levels are counted from 0.",
            )
        if self.tile < 4 * _PLATFORM or not 0 < self.cell <= _TREAD / 2:
            raise RealworthyError(
                f"Tiles of {self.tile:g} m with a height every {self.cell:g} m are too "
                "small or too coarse.",
                hint=f"Use tiles of {4 * _PLATFORM:g} m or more and cells of "
                f"{_TREAD / 2:g} m or less.",
            )


class Terrain:
    """Heights on a grid about the origin: (rows along y, columns along x) [m]."""

    def __init__(self, settings: TerrainSettings | None = None) -> None:
        self.settings = s = settings or TerrainSettings()
        self.cells = round(s.tile / s.cell)
        """Cells along a tile."""
        self.size = np.array([s.levels, len(KINDS)]) * self.cells * s.cell
        """(2,) [m] along x and y."""
        self.heights = self._build()

    def add_to(self, twin: Twin) -> Twin:
        """The twin on this ground; its own floor, a plane, is lowered."""
        return twin.edited(self._edit)

    def find_middle(self, level: Tensor, kind: Tensor) -> Tensor:
        """(…, 2) [m] x and y of tiles' middles."""
        tile = self.cells * self.settings.cell
        x = (level + 0.5) * tile - self.size[0] / 2
        y = (kind + 0.5) * tile - self.size[1] / 2
        return torch.stack([x, y], dim=-1)

    def _build(self) -> Floats:
        s = self.settings
        rng = np.random.default_rng(s.seed)
        rows, columns = (len(KINDS) * self.cells + 1, s.levels * self.cells + 1)
        heights = np.zeros((rows, columns))
        for level in range(s.levels):
            share = (level + 1) / s.levels
            for kind, name in enumerate(KINDS):
                tile = self._build_tile(name, share, rng)
                y, x = kind * self.cells, level * self.cells
                heights[y : y + self.cells + 1, x : x + self.cells + 1] = tile
        return heights

    def _build_tile(self, kind: str, share: float, rng: np.random.Generator) -> Floats:
        """(cells + 1, cells + 1) heights, zero along the edges and on the platform."""
        s = self.settings
        along = (np.arange(self.cells + 1) - self.cells / 2) * s.cell
        x, y = np.meshgrid(along, along)
        far = np.maximum(np.abs(x), np.abs(y))
        free = np.minimum(far - _PLATFORM, along[-1] - far).clip(min=0)
        if kind == "slope":
            return share * s.slope * free
        if kind == "stairs":
            return share * s.step * np.floor(free / _TREAD + 1e-9)
        bumps = rng.uniform(0, share * s.roughness, x.shape)
        return np.where(free > 0.5 * s.cell, bumps, 0.0)

    def _edit(self, spec: mujoco.MjSpec) -> None:
        planes = [
            g for g in spec.worldbody.geoms if g.type == mujoco.mjtGeom.mjGEOM_PLANE
        ]
        if len(planes) != 1:
            raise RealworthyError(
                f"Terrain lies on one floor, but the model has {len(planes)}."
            )
        floor = planes[0]
        top = max(float(self.heights.max()), 1e-3)
        rows, columns = self.heights.shape
        spec.add_hfield(
            name="terrain",
            nrow=rows,
            ncol=columns,
            size=[*(self.size / 2), top, 0.1],
            userdata=(self.heights / top).ravel(),
        )
        spec.worldbody.add_geom(
            name="terrain",
            type=mujoco.mjtGeom.mjGEOM_HFIELD,
            hfieldname="terrain",
            material=floor.material,
            condim=floor.condim,
            friction=floor.friction,
        )
        floor.pos = [0, 0, -_DROP]


class Walkers:
    """Which tile each world is on; in practice on to a harder one when it walks.

    Worlds that are no practice keep their tiles, spread evenly over levels and kinds.
    In practice a world goes up a level when it made more than half a tile in an
    episode, and down when less than half of what was asked; what counts is the way
    along the command.
    """

    def __init__(self, scene: Scene, terrain: Terrain) -> None:
        self.terrain, self._period = terrain, scene.period
        worlds = torch.arange(scene.world_count, device=scene.device)
        self.level = torch.full_like(worlds, terrain.settings.start)
        """(worlds,) from 0."""
        self.kind = worlds % len(KINDS)
        """(worlds,) place in `KINDS`."""
        levels = terrain.settings.levels
        shift = worlds // math.lcm(levels, len(KINDS))  # or kinds would miss levels
        self._spread = (worlds + shift) % levels
        self.walked, self.asked = scene.zeros(), scene.zeros()
        """(worlds,) [m] in this episode."""
        self._heights = torch.tensor(
            terrain.heights, dtype=torch.float32, device=scene.device
        )
        self._size = torch.tensor(
            terrain.size, dtype=torch.float32, device=scene.device
        )
        self._scan = torch.tensor(_SCAN, device=scene.device)

    def begin(self, worlds: Tensor, *, is_practice: bool) -> Tensor:
        """(worlds, 2) [m] where the worlds of a mask begin, on their next level."""
        level = self._find_next() if is_practice else self._spread
        self.level = torch.where(worlds, level, self.level)
        self.walked = torch.where(worlds, 0.0, self.walked)
        self.asked = torch.where(worlds, 0.0, self.asked)
        return self.terrain.find_middle(self.level, self.kind)

    def _find_next(self) -> Tensor:
        """(worlds,) levels, by what was walked in the episode that has ended."""
        s = self.terrain.settings
        up = self.walked > s.tile / 2
        down = (self.walked < 0.5 * self.asked) & ~up
        change = up.to(torch.int64) - down.to(torch.int64)
        return (self.level + change).clamp(0, s.levels - 1)

    def advance(self, base: BaseState, command: Tensor) -> None:
        """Adds the way of the step that was just made."""
        speed = command[:, :2].norm(dim=1)
        along = (base.velocity[:, :2] * command[:, :2]).sum(1) / speed.clamp(min=1e-6)
        self.walked = self.walked + self._period * along
        self.asked = self.asked + self._period * speed

    def find_height(self, place: Tensor) -> Tensor:
        """(…) [m] of the ground at (…, 2) x and y; between heights, bilinear."""
        cell = self.terrain.settings.cell
        most = self._size / cell
        at = ((place + self._size / 2) / cell).clamp(
            min=torch.zeros_like(most), max=most
        )
        low = torch.minimum(at.floor(), most - 1)
        x, y = (at - low).unbind(-1)
        column, row = low.to(torch.int64).unbind(-1)
        h = self._heights
        near = h[row, column] * (1 - x) + h[row, column + 1] * x
        far = h[row + 1, column] * (1 - x) + h[row + 1, column + 1] * x
        return near * (1 - y) + far * y

    def scan(self, base: BaseState) -> Tensor:
        """(worlds, 9) [m] of the base above the ground around it, turned with it."""
        cosine, sine = base.heading[:, None].unbind(-1)
        ahead, left = self._scan.unbind(-1)
        turned = torch.stack(
            [cosine * ahead - sine * left, sine * ahead + cosine * left], dim=-1
        )
        ground = self.find_height(base.position[:, None, :2] + turned)
        return base.position[:, 2:] - ground

    def memory(self) -> dict[str, Tensor]:
        return {"level": self.level, "walked": self.walked, "asked": self.asked}


def reflect_scan(first: int) -> list[tuple[int, float]]:
    """For each place of a scan that begins at place `first`: its mirror and factor."""
    mirrored = [_SCAN.index((x, -y)) for x, y in _SCAN]
    return [(first + place, 1.0) for place in mirrored]
