"""What an adaptation is asked for."""

from dataclasses import dataclass, field

from realworthy.errors import RealworthyError
from realworthy.policies.contract import TaskSetting


@dataclass(kw_only=True, slots=True)
class AdaptSettings:
    """Of every method; each reads what it needs."""

    twin: str = ""
    """As `load_twin` takes it; empty: the task's own."""
    task_settings: dict[str, TaskSetting] = field(default_factory=dict)
    """What of the task is set otherwise than by default."""
    unknown: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Parameter → least and largest value; empty: as the task's preset randomizes."""
    change_every: float = 0.0
    """[s] between changes of each unknown within an episode, on average; 0: none."""
    steps: int = 300_000
    """Control steps of reinforcement learning, of all worlds together, for each policy.
    """
    student_steps: int = 60_000
    """Control steps from which a student learns."""
    world_count: int = 128
    history: float = 0.5
    """[s] of observations and actions that a student sees."""
    latent_width: int = 8
    """Numbers in the latent of RMA."""
    latent_every: int = 1
    """Control steps between two inferences of what the history says."""
    evaluation_episodes: int = 256
    seed: int = 0
    trials: int = 30
    """On a robot, at most; each is a whole episode."""
    trial_seconds: float | None = None
    """[s] of each; none: an episode of the task."""
    clean_before: int = 0
    """Clean trials that such policies have had on this robot: first ones are slow."""
    repeats: int = 1
    """Trials of each candidate of a search whose returns are averaged."""
    draws: int = 1
    """Of p(e), which `mppi` plans over; 1: it plans at the mean e."""
    search: str = "cma"
    """Of `strategy`: `cma`, `awr`, `bayes` or `hill`."""

    def check(self) -> None:
        """Raises where nothing could come of it."""
        for name in ("steps", "student_steps", "world_count", "evaluation_episodes"):
            if getattr(self, name) < 1:
                raise RealworthyError(f"{name} should be above zero.")
        for name, (lower, upper) in self.unknown.items():
            if not lower < upper:
                raise RealworthyError(
                    f"'{name}' is said to lie between {lower:g} and {upper:g}.",
                    hint="Give the least value first: NAME=LOWER:UPPER.",
                )
        if self.change_every and not self.unknown:
            raise RealworthyError(
                "What changes within an episode has to be named.",
                hint="Name it with its range: --unknown NAME=LOWER:UPPER.",
            )
        if not self.history > 0 or self.change_every < 0:
            raise RealworthyError("A history and times between changes are above zero.")
        if self.draws < 1:
            raise RealworthyError(f"{self.draws} draws of e are none to plan at.")
        if self.trials < 1 or self.repeats < 1:
            raise RealworthyError(f"{self.trials} trials of {self.repeats} are none.")
