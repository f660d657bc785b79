"""Many worlds in which one task is tried, on either simulator."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from realworthy.errors import RealworthyError
from realworthy.parameters import Belief
from realworthy.parameters.processes import Course
from realworthy.simulators import MujocoCpu, Outcome, Simulator
from realworthy.simulators.replay.inputs import Encoders
from realworthy.tasks.environment.actuation import Actuation
from realworthy.tasks.environment.chance import Chance
from realworthy.tasks.environment.devices import (
    Recorded,
    StaticBuffers,
    find_device,
    spare_threads,
)
from realworthy.tasks.environment.environment import (
    Environment,
    ObservationGroup,
    Observations,
    Purpose,
    Step,
    check_groups,
    check_observed,
)
from realworthy.tasks.environment.measurements import Link, Measurements
from realworthy.tasks.environment.mirrors import Mirrors
from realworthy.tasks.environment.scene import Scene
from realworthy.tasks.failures import Failure
from realworthy.tasks.randomization.pushing import Pushing
from realworthy.tasks.randomization.randomization import Randomization
from realworthy.tasks.task import Start, Task
from realworthy.twins import BoundTwin, Twin, bind
from realworthy.twins.variants import Variant, apply_variant

if TYPE_CHECKING:
    from realworthy.simulators.mujoco_gpu import MujocoGpu

T = TypeVar("T")
PURPOSES = {
    "policy": Purpose.DEPLOYABLE,
    "truth": Purpose.PRIVILEGED,
    "e": Purpose.E,
    "privileged": Purpose.PRIVILEGED,
}
"""Group of a task's observations → what it is for: `policy` has the task's terms as
they are measured, `truth` the same without noise, delay and history and the share of
time that is left, `e` is standardised where some of it differs, and `privileged` is
what the task adds. The task's `groups` come after these."""
Simulate: TypeAlias = Callable[[BoundTwin, int, int], Simulator]
"""Bound twin, worlds and substeps of a control step → a simulator."""
_ITERATIONS, _LINE_SEARCHES = 8, 12
"""Of the constraint solver on a GPU, where every world waits for the slowest."""
_COARSER = Variant(timestep=2.0)
_REDRAW = 64
"""Steps between two drawings of e on a GPU, where each waits for the device."""


class TaskWorlds(Environment):
    """`world_count` worlds of a task, each with an e of its own.

    On the CPU, world i of episode k has the same e, start, goals and pushes whatever
    the other worlds do; noise of its measurements and commands depends on their number.
    On a GPU a world takes up its new e some steps after its episode began, and the
    solver of contacts and friction stops sooner. A world whose physics diverges ends
    with `Failure.NUMERICAL`, is marked invalid, and starts again.
    """

    def __init__(
        self,
        task: Task,
        world_count: int,
        *,
        randomization: Randomization | None = None,
        seed: int = 0,
        device: str = "cpu",
        with_warp: bool | None = None,
        recorded: bool = True,
        thread_count: int = 0,
        simulate: Simulate | None = None,
        given: NDArray[np.float64] | None = None,
        numbers: NDArray[np.intp] | None = None,
        link: Link | None = None,
        coarse: bool = False,
        is_practice: bool = False,
    ) -> None:
        """On CUDA a step is `recorded` and launched as a few graphs.

        `with_warp` is for tests: MuJoCo Warp on the CPU. None: on CUDA only.
        `simulate` builds another simulator of the bound twin, on the CPU. `given`
        (worlds, d) is e of each world in place of draws from the belief. Worlds of
        equal `numbers` (worlds,) have equal starts, goals and pushes. With a `link`
        the actor sees what it reports, and the simulator that belongs to it gets
        commands as they are; worlds then differ by nothing else. `coarse` physics
        have twice the twin's time step, where two such fit into a control step.
        Episodes of `is_practice` may begin where a policy learns most.
        """
        check_groups(task.groups, (*PURPOSES, "action"))
        self.task, self.device = task, find_device(device)
        self._has_checked_groups = False
        self.randomization = randomization or Randomization()
        self._link = _check_link(link, self.randomization)
        belief = self.randomization.belief
        twin = _coarsen(task) if coarse else task.twin
        self.bound = bind(twin, None if belief is None else belief.space)
        self._is_on_warp = (
            self.device.type == "cuda" if with_warp is None else with_warp
        )
        self.simulator = self._build_simulator(world_count, thread_count, simulate)
        self.scene = scene = Scene(self.simulator, self.device)
        self.chance = Chance(seed, world_count, self.device, numbers=numbers)
        self._given = given
        self.on_end: Callable[[NDArray[np.float64], NDArray[np.bool_]], None] | None
        self.on_end = None
        """On the CPU: told of episodes as they end, (n, d) their e and (n,) whether
        they succeeded; of those whose physics diverged nothing is told."""
        self._begin = task.begin_practice if is_practice else task.begin
        self.world_count, self.period = world_count, self.simulator.period
        self.step_limit = round(task.seconds / self.period)
        self.action_width = task.action.width
        scene.action = scene.last_action = scene.zeros(self.action_width)
        scene.command = scene.zeros(self.action_width)
        self._samples = np.tile(self.bound.space.nominal, (world_count, 1))
        self._e = scene.zeros(len(self.bound.space))
        self._scale: tuple[Belief, NDArray[np.float64], NDArray[np.float64]] | None
        self._scale = None  # of the belief, remembered: mean and sd
        self._waiting = torch.zeros(world_count, dtype=torch.bool, device=self.device)
        self._invalid = torch.zeros((), dtype=torch.int64, device=self.device)
        self._steps = 0
        self._memory = StaticBuffers(self)
        self._action = scene.zeros(self.action_width)
        self._done = torch.zeros_like(self._waiting)
        self._course = self._build_course(seed)
        self.measuring = Measurements(
            task, scene, self.randomization, self.chance, link=link
        )
        self._command = Actuation(
            task, scene, None if link is not None else self.measuring, self.chance
        )
        task.prepare(scene)
        self.pushing = Pushing(
            task.find_pushed(scene), scene, self.randomization.pushes
        )
        self.observations = self.reset()
        self.groups = self._describe_groups()
        self._mirrors = self._build_mirrors()
        self.mirror_count = self._mirrors.count
        self._record_steps(recorded and self.device.type == "cuda")

    def _describe_groups(self) -> dict[str, ObservationGroup]:
        """Those of every task that it has, then its own."""
        groups = {
            name: ObservationGroup(tuple(x.shape[1:]), PURPOSES[name])
            for name, x in self.observations.items()
            if name in PURPOSES
        }
        return groups | {group.name: group.describe() for group in self.task.groups}

    def _record_steps(self, is_recorded: bool) -> None:
        """The three parts of a step, as CUDA graphs where they are recorded."""
        self._is_recorded = is_recorded
        if is_recorded:
            self._memory.check(self._list_memory())

        def record(work: Callable[[], T]) -> Callable[[], T]:
            if not is_recorded:
                return work
            return Recorded(work, self._memory, self.chance.generator)

        self._decide = record(self._act)
        self._look_and_prepare = record(self._judge_and_prepare)
        self._see_begun = record(self._settle_and_observe)

    @property
    def e(self) -> NDArray[np.float64]:
        """(worlds, d) samples of the belief that the worlds have now."""
        return self._samples.copy()

    @property
    def invalid_count(self) -> int:
        """Worlds whose physics diverged, since the beginning."""
        return int(self._invalid)

    def reset(self, *, scatter: bool = False) -> Observations:
        everywhere = torch.ones(self.world_count, dtype=torch.bool, device=self.device)
        self._put(everywhere, self._prepare(everywhere))
        self._settle(everywhere)
        self._draw_waiting()
        if scatter:
            u = self.chance.uniform("scatter", 1, everywhere)[:, 0]
            self.scene.step_count.copy_((u * self.step_limit).to(torch.int64))
        self.observations = self._observe(everywhere)
        self._memory.put_back()
        return self.observations

    def step(self, action: Tensor) -> Step:
        with spare_threads(self.world_count):
            return self._step(action)

    def _step(self, action: Tensor) -> Step:
        self._memory.put_back()  # what others have replaced between two steps
        self._action.copy_(action)
        self._change_e()
        self.simulator.step(self._decide())
        self.scene.renew()
        if self.device.type == "cpu":
            return self._finish_on_cpu()
        step, start = self._look_and_prepare()
        self._done.copy_(step.done)
        self._put(self._done, start)
        self.observations = {k: x.clone() for k, x in self._see_begun().items()}
        return replace(step, observations=self.observations)

    def _finish_on_cpu(self) -> Step:
        """The rest of a step where asking whether any world has ended costs nothing."""
        step = self._judge()
        self.observations = step.observations
        done = step.done
        if not bool(done.any()):
            return step
        if self.on_end is not None:
            told = (done & ~step.invalid).numpy()
            self.on_end(self._samples[told], step.success.numpy()[told])
        self._put(done, self._prepare(done))
        self._settle(done)
        self.observations = self._observe_begun(done)
        return replace(step, observations=self.observations)

    def _act(self) -> Tensor:
        """(worlds, inputs) commands for the action, after a push where one is due."""
        scene = self.scene
        scene.last_action = scene.action
        scene.action = self.task.action.smooth(self._action, scene.last_action)
        scene.command = self.task.action.compute(scene.action, self.measuring.near)
        self.pushing.push(self.chance)
        return self._command(scene.command)

    def _judge(self) -> Step:
        """What the step brought, before worlds start again."""
        task, scene = self.task, self.scene
        scene.step_count += 1
        task.advance(scene, self.chance)
        terms = task.compute_rewards(scene)
        reward = sum(task.weights[name] * value for name, value in terms.items())
        failure, terminated, truncated, invalid = self._find_endings()
        done = terminated | truncated
        success = task.is_success(scene) & done & ~invalid
        missed = truncated & ~success
        failure = torch.where(missed, int(Failure.NO_PROGRESS), failure)
        final = self._observe(None)
        self._invalid += invalid.sum()
        return Step(
            observations=final,
            reward=torch.where(invalid, 0.0, self.period * reward),
            terminated=terminated,
            truncated=truncated,
            final=final,
            terms=terms,
            failure=failure,
            success=success,
            invalid=invalid,
        )

    def _judge_and_prepare(self) -> tuple[Step, Start]:
        step = self._judge()
        return step, self._prepare(step.done)

    def _settle_and_observe(self) -> Observations:
        self._settle(self._done)
        return self._observe(self._done)

    def _prepare(self, worlds: Tensor) -> Start:
        """Where the worlds of a mask begin their next episode."""
        self.chance.begin(worlds)
        self._waiting |= worlds
        if not self._is_on_warp:
            self._draw_waiting()
        start = self._begin(self.scene, worlds, self.chance)
        self.pushing.begin(worlds, self.chance)
        self.measuring.begin(worlds)
        return start

    def reseed(self, seed: int) -> None:
        self.chance.reseed(seed)
        self._course = self._build_course(seed)
        self._steps = 0
        if self._link is not None:
            self._link.reseed(seed)

    def rewind(self) -> None:
        """Back to the beginning: the next `reset` brings what the first one did."""
        self.reseed(self.chance.seed)

    def randomize(self, randomization: Randomization) -> None:
        """Worlds differ so from their next episodes on; noise and pushes at once.

        The belief is over the same numbers as before; processes and latency stay, and
        so do noise and pushes of recorded steps.
        """
        self._check_same(randomization)
        _check_link(self._link, randomization)
        old, self.randomization = self.randomization, randomization
        if randomization.noise != old.noise:
            self.measuring.change_noise(randomization.noise)
        self.pushing.change(randomization.pushes)
        if randomization.belief is not None:
            self._e.copy_(self._standardise(self._samples))
            self._mirrors = self._build_mirrors()

    def mirror(self, group: str, x: Tensor, element: int = 1) -> Tensor:
        for other in self.task.groups:
            if other.name == group:
                if other.mirror is None:
                    raise RealworthyError(
                        f"Group '{group}' of observations has no mirror.",
                        hint="Give its TaskGroup `mirror`, or mirror nothing.",
                    )
                return other.mirror(x)
        return self._mirrors.mirror(group, x)

    def mirror_action(self, action: Tensor, element: int = 1) -> Tensor:
        return self._mirrors.mirror("action", action)

    def state_dict(self) -> dict[str, Tensor]:
        state = {
            "physics": torch.from_numpy(self.simulator.state()),
            "e": torch.from_numpy(self._samples.copy()),
            "step_count": self.scene.step_count.clone(),
            "action": self.scene.action.clone(),
            "invalid": self._invalid.clone(),
        }
        state |= {name: x.clone() for name, x in self._list_memory().items()}
        state |= {f"observed.{k}": x.clone() for k, x in self.observations.items()}
        if self._course is not None:
            course = self._course.state_dict()
            state |= {f"course.{k}": torch.from_numpy(x) for k, x in course.items()}
        if self._is_on_warp:
            state["waiting"] = self._waiting.clone()
            state["steps"] = torch.tensor(self._steps)
        chance = self.chance.state_dict()
        return state | {f"chance.{name}": x for name, x in chance.items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        if self._course is not None:
            names = self._course.state_dict()
            self._course.load_state_dict(
                {k: state[f"course.{k}"].numpy() for k in names}
            )
        if self._is_on_warp:
            self._waiting.copy_(state["waiting"])
            self._steps = int(state["steps"])
        self._samples = state["e"].numpy().copy()
        if self.randomization.belief is not None:
            self.simulator.write(self._samples)
            self._e.copy_(self._standardise(self._samples))
        self.simulator.restore(state["physics"].numpy())
        self.scene.renew()
        self.scene.step_count.copy_(state["step_count"])
        self.scene.action = state["action"].to(self.device)
        self._invalid.copy_(state["invalid"])
        self.measuring.renew()
        self._command.renew()
        for name, x in self._list_memory().items():
            x.copy_(state[name])
        self.chance.load_state_dict(
            {k: state[f"chance.{k}"] for k in ("generator", "episode")}
        )
        names = self.observations
        self.observations = {k: state[f"observed.{k}"].to(self.device) for k in names}
        self._memory.put_back()

    def _check_same(self, other: Randomization) -> None:
        old = self.randomization
        names = [() if r.belief is None else r.belief.space.names for r in (old, other)]
        if names[0] != names[1]:
            missing = sorted({*names[0]} ^ {*names[1]})
            raise RealworthyError(
                "Running worlds keep the numbers that differ between them; these two"
                f" disagree about {', '.join(missing) or 'their order'}.",
                hint="Use a belief over the same space, or build new worlds.",
            )
        if self._is_recorded and (old.noise, old.pushes) != (other.noise, other.pushes):
            raise RealworthyError(
                "Noise and pushes are part of the recorded steps of these worlds.",
                hint="Build them with recorded=False, or change the belief alone.",
            )
        if (old.latency, old.processes) != (other.latency, other.processes):
            raise RealworthyError(
                "Latency and processes of running worlds cannot change.",
                hint="Build new worlds.",
            )

    def _list_memory(self) -> dict[str, Tensor]:
        owners = {"task": self.task, "push": self.pushing, "measured": self.measuring}
        return {
            f"{owner}.{name}": x
            for owner, part in owners.items()
            for name, x in part.memory().items()
        }

    def _find_endings(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Failure codes, terminated, truncated, invalid; each (worlds,)."""
        outcome = torch.as_tensor(self.simulator.array("outcome"), device=self.device)
        invalid = outcome == int(Outcome.DIVERGED)
        failure = self.task.find_failures(self.scene)
        if failure is None:
            failure = torch.zeros_like(self.scene.step_count)
        failure = torch.where(invalid, int(Failure.NUMERICAL), failure)
        terminated = failure != 0
        truncated = (self.scene.step_count >= self.step_limit) & ~terminated
        return failure, terminated, truncated, invalid

    def _observe(self, fresh: Tensor | None) -> Observations:
        """After a step; or, with a mask, again because those worlds have begun."""
        policy, terms = self.measuring.observe(fresh)
        return {"policy": policy, **self._observe_truth(terms, slice(None))}

    def _observe_begun(self, worlds: Tensor) -> Observations:
        """The last ones, but for the worlds of a mask, which have begun; on the CPU."""
        ids = worlds.nonzero()[:, 0]
        policy, terms = self.measuring.observe_begun(worlds, ids)
        begun = self._observe_truth(terms, ids)
        others = {
            k: self.observations[k].index_copy(0, ids, x) for k, x in begun.items()
        }
        return {"policy": policy, **others}

    def _observe_truth(self, terms: Tensor, ids: Tensor | slice) -> Observations:
        """What no robot measures of some worlds, whose true `terms` are given."""
        left = 1 - self.scene.step_count[:, None].to(torch.float32) / self.step_limit
        groups = {"truth": torch.cat([terms, left[ids]], dim=1)}
        if len(self.bound.space):
            groups["e"] = self._e[ids].clone()  # which others overwrite
        privileged = self.task.observe_privileged(self.scene)
        if privileged is not None:
            groups["privileged"] = privileged[ids].clone()
        return groups | self._observe_groups(ids)

    def _observe_groups(self, ids: Tensor | slice) -> Observations:
        """What the task adds, of some worlds."""
        task = self.task
        if not task.groups:
            return {}
        observed = task.observe_groups(self.scene)
        if not self._has_checked_groups:
            check_observed(task.groups, observed, self.world_count)
            self._has_checked_groups = True
        return {group.name: observed[group.name][ids].clone() for group in task.groups}

    def _put(self, worlds: Tensor, start: Start) -> None:
        """Puts the worlds of a mask where they begin."""
        if self._is_on_warp:
            simulator = cast("MujocoGpu", self.simulator)
            simulator.begin(worlds, qpos=start.qpos, qvel=start.qvel)
        else:
            ids = worlds.numpy().nonzero()[0]
            qpos, qvel = start.qpos.numpy()[ids], start.qvel.numpy()[ids]
            self.simulator.reset(ids, qpos=qpos, qvel=qvel)
        self.scene.renew()

    def _settle(self, worlds: Tensor) -> None:
        """The worlds of a mask are at time zero and have done nothing."""
        scene = self.scene
        scene.step_count.masked_fill_(worlds, 0)
        scene.action = torch.where(worlds[:, None], 0.0, scene.action)

    def _draw_waiting(self) -> None:
        """Gives the worlds that have begun an episode an e of their own for it."""
        belief = self.randomization.belief
        if belief is None:
            return
        ids = self._waiting.cpu().numpy().nonzero()[0]
        self._waiting.zero_()
        if not len(ids):
            return
        samples = self._sample(belief, ids)
        if self._course is not None:
            self._course.begin(samples, ids)
        self._write_e(samples, ids)

    def _sample(self, belief: Belief, ids: NDArray[np.intp]) -> NDArray[np.float64]:
        """(n, d) e of the next episodes of some worlds."""
        if self._given is not None:
            return self._given[ids]
        episode = self.chance.episode.cpu().numpy()[ids]
        return belief.sample_worlds(ids, seed=self.chance.seed, episode=episode)

    def _change_e(self) -> None:
        """What changes of e between two steps."""
        self._steps += 1
        if self._course is not None:
            ids = self._course.advance(self.period)
            self._write_e(self._course.now[ids], ids)
        if self._is_on_warp and self._steps % _REDRAW == 0:
            self._draw_waiting()

    def _write_e(self, samples: NDArray[np.float64], ids: NDArray[np.intp]) -> None:
        if not len(ids):
            return
        self._samples[ids] = samples
        self.simulator.write(samples, ids)
        self._e[torch.from_numpy(ids).to(self.device)] = self._standardise(samples)
        self.measuring.renew()
        self._command.renew()

    def _standardise(self, samples: NDArray[np.float64]) -> Tensor:
        """(n, d) e as multiples of the belief's sd from its mean."""
        belief = self.randomization.belief
        assert belief is not None
        if self._scale is None or self._scale[0] is not belief:
            names, means, sds = belief.space.names, belief.mean, belief.sd
            mean, sd = (np.array([x[name] for name in names]) for x in (means, sds))
            self._scale = belief, mean, np.where(sd > 0, sd, 1.0)
        _, mean, sd = self._scale
        scaled = (samples - mean) / sd
        return torch.tensor(scaled, dtype=torch.float32, device=self.device)

    def _build_simulator(
        self, world_count: int, thread_count: int, simulate: Simulate | None
    ) -> "Simulator | MujocoGpu":
        step = float(self.bound.model.opt.timestep)
        substeps = round(self.task.period / step)
        if abs(substeps * step - self.task.period) > 1e-9:
            raise RealworthyError(
                f"Task '{self.task.name}' acts every {self.task.period * 1e3:g} ms, "
                f"which is no multiple of the twin's time step, {step * 1e3:g} ms."
            )
        if simulate is not None:
            return simulate(self.bound, world_count, substeps)
        if not self._is_on_warp:
            return MujocoCpu(
                self.bound, world_count, substeps=substeps, thread_count=thread_count
            )
        from realworthy.simulators.mujoco_gpu import MujocoGpu

        option = self.bound.model.opt
        option.iterations = min(option.iterations, _ITERATIONS)
        option.ls_iterations = min(option.ls_iterations, _LINE_SEARCHES)
        device = str(self.device)
        return MujocoGpu(self.bound, world_count, substeps=substeps, device=device)

    def _build_mirrors(self) -> Mirrors:
        task = self.task
        return Mirrors(
            task.reflection,
            terms=task.terms,
            action=task.action,
            space=self.bound.space,
            device=self.device,
            zeros={} if task.reflection is None else self._find_zeros(),
        )

    def _find_zeros(self) -> dict[str, float]:
        """Signal or action → what it is at zero, by the mean offsets of encoders."""
        belief, twin = self.randomization.belief, self.task.twin
        offsets = {}
        if belief is not None:
            biases = [p.name for p in belief.space if p.kind == "sensor_bias"]
            offsets = {name: belief.mean[name] for name in biases}
        own = (twin.with_values(offsets) if offsets else twin).compiled.own
        bias = own["own.sensor_bias"].tolist()
        zeros = dict(zip(self.simulator.signals, bias, strict=True))
        action, names = self.task.action, self.simulator.commands
        steps = dict(zip(action.commands, action.scale, strict=True))
        for column, place in Encoders(self.simulator, ()).inputs:
            name = names[column]
            if name in steps:
                zeros[f"{name}.action"] = bias[place] / steps[name]
        return {name: zero for name, zero in zeros.items() if zero}

    def _build_course(self, seed: int) -> Course | None:
        processes = self.randomization.processes
        if not processes:
            return None
        return Course(self.bound.space, processes, len(self._samples), seed=seed)


def _coarsen(task: Task) -> Twin:
    """Its twin with longer time steps, where the control period allows them."""
    substeps = task.period / float(task.twin.compiled.model.opt.timestep)
    fits = round(substeps) % 2 == 0 and round(substeps) >= 4
    return apply_variant(task.twin, _COARSER) if fits else task.twin


def _check_link(link: Link | None, randomization: Randomization) -> Link | None:
    if link is not None and not randomization.is_none:
        raise RealworthyError(
            "Worlds behind a robot's interface have its noise, its e and no pushes.",
            hint="Leave the randomization out.",
        )
    return link
