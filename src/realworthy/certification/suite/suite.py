"""What a policy must pass: cells, margins, the search, the bar. A team keeps its own.

`*.suite.yaml` holds a suite; `default_suite` and `quick_suite` are ours.
"""

import math
from collections import Counter
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from realworthy import artefacts
from realworthy.artefacts import COUNT
from realworthy.certification.certificate.results import Group
from realworthy.certification.suite.condition import Condition
from realworthy.errors import RealworthyError
from realworthy.twins.variants import Variant

SCHEMA = 1
_Count = Annotated[int, Meta(ge=1)]
_Bar = Annotated[float, Meta(gt=0, lt=1)]


class _Part(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    pass


class Cell(_Part, frozen=True, kw_only=True):
    """One condition in which the policy must do well."""

    name: str
    group: Group
    condition: Condition = Condition()
    required: bool = True
    """Whether a failure here fails the policy."""
    episodes: _Count = 128
    """At most; fewer where the matter is settled sooner."""
    bar: _Bar | None = None
    """Share of successes that it must reach; none: the suite's."""


class MarginStep(_Part, frozen=True, kw_only=True):
    value: float
    condition: Condition


class Margin(_Part, frozen=True, kw_only=True):
    """A disturbance that grows until the policy fails."""

    name: str
    unit: str
    steps: tuple[MarginStep, ...]
    """From the least to the most."""
    episodes: _Count = 40
    """At each step, with common starts."""


class WorstCaseSearch(_Part, frozen=True, kw_only=True):
    """For the worst case within the belief."""

    evaluations: _Count = 128
    episodes: _Count = 6
    """Of each, with common starts."""


class Coverage(_Part, frozen=True, kw_only=True):
    """How validity is shown: realities drawn within its limits, episodes in each."""

    realities: _Count = 64
    """29 is the fewest from which 90 % of realities can be spoken of with 95 %
    confidence; 42 where four boxes are tried."""
    episodes: _Count = 16
    scales: tuple[Annotated[float, Meta(gt=0, le=1)], ...] = (1.0, 0.7, 0.45, 0.25)
    """Shares of the believed ranges that are tried, the widest first."""
    content: _Bar = 0.9
    confidence: _Bar = 0.95

    def __post_init__(self) -> None:
        if not self.scales:
            raise RealworthyError("coverage: scales are empty.", hint="Try: [1.0]")
        if self.realities < self.fewest:
            raise RealworthyError(
                f"coverage: {self.realities} realities show nothing of "
                f"{self.content:.0%} of them with {self.confidence:.0%} confidence, "
                f"trying {len(self.scales)} boxes.",
                hint=f"Draw {self.fewest} or more, or try fewer scales.",
            )

    @property
    def fewest(self) -> int:
        """Realities from which on all of them doing well shows anything."""
        error = (1 - self.confidence) / max(len(self.scales), 1)
        return math.ceil(math.log(error) / math.log(self.content))


class Budgets(_Part, frozen=True, kw_only=True):
    """What everyday play may cost, 95 % of episodes; none: it is only reported."""

    action_rate: float | None = None
    """[1/s] root mean square of the change of actions."""
    mean_power: float | None = None
    """[W] mechanical, mean of an episode."""
    peak_power: float | None = None
    """[W]"""
    heat: float | None = None
    """Share of the torque limit that heats a joint like its hottest moment did."""
    oscillating: Annotated[float, Meta(ge=0, le=1)] | None = None
    """Share of episodes that may oscillate (code 70)."""


class Suite(_Part, frozen=True, kw_only=True):
    """`*.suite.yaml`."""

    schema: int = SCHEMA
    name: str = "default"
    bar: _Bar = 0.8
    """Share of successes that must be exceeded, with 95 % confidence."""
    seed: int = 0
    batch: _Count = 64
    """Episodes of a cell between two interim evaluations."""
    cells: tuple[Cell, ...] = ()
    margins: tuple[Margin, ...] = ()
    search: WorstCaseSearch | None = None
    coverage: Coverage | None = Coverage()
    budgets: Budgets = Budgets()

    def __post_init__(self) -> None:
        counted = Counter((cell.group, cell.name) for cell in self.cells)
        twice = [name for (_, name), count in counted.items() if count > 1]
        if twice:
            raise RealworthyError(
                f"suite '{self.name}': {len(twice)} names stand for several cells of a "
                f"group: {', '.join(twice)}.",
                hint="Give each a name of its own.",
            )


def load_suite(path: Path | str) -> Suite:
    """A team's own suite; refused where it asks for more than anybody waits for."""
    suite = artefacts.load(path, Suite, schema=SCHEMA)
    check_count(suite, Path(path))
    return suite


def check_count(suite: Suite, path: Path) -> None:
    """Raises where there are too many episodes, or steps within one."""
    count = sum(cell.episodes for cell in suite.cells)
    count += sum(margin.episodes * len(margin.steps) for margin in suite.margins)
    if suite.search is not None:
        count += suite.search.evaluations * suite.search.episodes
    if (coverage := suite.coverage) is not None:
        count += coverage.realities * coverage.episodes * len(coverage.scales)
    COUNT.check(count, "it asks for too many episodes", path)
    COUNT.check(suite.batch, "batch: it asks for too many episodes at once", path)
    steps = [step.condition for margin in suite.margins for step in margin.steps]
    for condition in (*(cell.condition for cell in suite.cells), *steps):
        for name in ("late_steps", "jitter_steps", "hold_steps", "delay_steps"):
            asked = getattr(condition, name)
            COUNT.check(asked, f"{name}: it asks for too many steps", path)
        factor = condition.variant.timestep
        COUNT.check(1 / factor, "timestep: it asks for too many substeps", path)


def save_suite(suite: Suite, path: Path | str, *, overwrite: bool = False) -> None:
    artefacts.save(path, suite, overwrite=overwrite)


def default_suite(*, is_costly: bool = False) -> Suite:
    """Everything, in minutes on two cores.

    Where a task `is_costly`, fewer episodes, realities and tries have to do; no part is
    left out, and the bounds are as much wider as they must be.
    """
    cells = (*_EVERYDAY, *_NUMERICS, *_ENGINES, *_ACTUATORS, *_SENSORS, *_STRESS)
    if not is_costly:
        return Suite(cells=cells, margins=_MARGINS, search=WorstCaseSearch())
    few = (
        msgspec.structs.replace(c, episodes=4) if c.group == "engine" else c
        for c in cells
    )
    return Suite(
        batch=32,
        cells=tuple(few),
        margins=tuple(msgspec.structs.replace(m, episodes=24) for m in _MARGINS),
        search=WorstCaseSearch(evaluations=48, episodes=4),
        coverage=Coverage(realities=48, scales=(1.0, 0.6, 0.3)),
    )


def quick_suite() -> Suite:
    """What decides most, in seconds for a classic task."""
    cells = (*_EVERYDAY, *_NUMERICS[:2], _ENGINES[-1])
    coverage = Coverage(realities=48, scales=(1.0, 0.5, 0.25))
    return Suite(name="quick", cells=cells, margins=_MARGINS[:1], coverage=coverage)


SUITES = {"default": default_suite, "quick": quick_suite}


def _cell(name: str, group: Group, required: bool = True, **what: object) -> Cell:
    condition = msgspec.convert(what, Condition)
    return Cell(name=name, group=group, condition=condition, required=required)


_EVERYDAY = (
    _cell("everyday", "everyday"),
    _cell("measured exactly", "sensor", noise=0),
)
_NUMERICS = (
    _cell("half the time step", "numerics", variant=Variant(timestep=0.5)),
    _cell("integrator euler", "numerics", variant=Variant(integrator="euler")),
    _cell("integrator rk4", "numerics", variant=Variant(integrator="rk4")),
    _cell("twice the time step", "numerics", False, variant=Variant(timestep=2.0)),
    _cell("elliptic cones", "numerics", variant=Variant(cone="elliptic", impratio=10)),
    _cell("stiffer contacts", "numerics", variant=Variant(contact_time=0.5)),
    _cell("softer contacts", "numerics", variant=Variant(contact_time=2.0)),
)
_ENGINES = tuple(
    Cell(
        name=f"engine {name}",
        group="engine",
        condition=Condition(engine=name, noise=0.0),
        episodes=8,
    )
    for name in ("warp", "drake", "sapien")
)
_ACTUATORS = (
    _cell("commands one step late", "actuator", False, delay_steps=1),
    _cell("drives lag by 20 ms", "actuator", False, lag=0.02),
    _cell("gains × 0.8", "actuator", False, times={"all.kp": 0.8}),
    _cell("torque limit × 0.85", "actuator", False, times={"all.torque_limit": 0.85}),
)
_SENSORS = (
    _cell("twice the noise", "sensor", noise=2.0),
    _cell("5 % of measurements missing", "sensor", dropout=0.05),
    _cell("measurements one step late", "sensor", False, late_steps=1),
)
_STRESS = (
    _cell("5 % of commands lost", "link", loss=0.05),
    _cell("measurements jitter by a step", "link", False, jitter_steps=1),
    _cell("half the control rate", "link", False, hold_steps=2),
    _cell("mass × 1.15", "stress", times={"all.mass": 1.15}),
    _cell("joint friction × 2", "stress", False, times={"all.coulomb_friction": 2.0}),
    _cell("ground friction × 0.5", "stress", times={"all.contact_friction": 0.5}),
    _cell("pushes of 0.5", "stress", False, push_speed=0.5),
)


def _margin(name: str, unit: str, steps: dict[float, Condition]) -> Margin:
    found = (MarginStep(value=value, condition=steps[value]) for value in sorted(steps))
    return Margin(name=name, unit=unit, steps=tuple(found))


_MARGINS = (
    _margin(
        "delay",
        "s",
        {
            d: Condition(plus={"all.delay": d})
            for d in (0.005, 0.01, 0.02, 0.03, 0.045, 0.06)
        },
    ),
    _margin(
        "lost commands",
        "",
        {p: Condition(loss=p) for p in (0.1, 0.2, 0.35, 0.5)},
    ),
    _margin(
        "action repeat", "", {float(k): Condition(hold_steps=k) for k in (2, 3, 5)}
    ),
    _margin(
        "jitter", "steps", {float(k): Condition(jitter_steps=k) for k in (1, 2, 4)}
    ),
    _margin("noise", "×", {f: Condition(noise=f) for f in (2.0, 4.0, 8.0)}),
    _margin(
        "payload",
        "× mass",
        {f: Condition(times={"all.mass": f}) for f in (1.1, 1.25, 1.5)},
    ),
    _margin(
        "push", "m/s or rad/s", {v: Condition(push_speed=v) for v in (0.5, 1.0, 2.0)}
    ),
)
