"""One practice, many tasks: a forward–backward policy that is prompted afterwards.

A point moves in a square room, a step of at most 0.1 at a time, and nobody tells it
what for. `Fb` learns where each of its policies gets to (Touati & Ollivier 2021). After
that it is asked for goals that it never practised on purpose, and for a reward that
nobody had named: be high, and not on the left. Each is one vector, and with it an
ordinary policy.

The truth is known: a point that goes straight arrives within 20 steps from anywhere.

    python recipes/prompting.py

Expect 80 % of episodes to end within 0.2 of their goal, and all of those under the
reward where it pays, after about a minute on an idle core.
"""

import argparse

import torch
from torch import Tensor

from realworthy.learning import Fb
from realworthy.learning.fb import FbSettings
from realworthy.tasks.environment.environment import (
    Environment,
    ObservationGroup,
    Observations,
    Purpose,
    Step,
)

STEPS = 40
"""Of an episode; 20 are enough from corner to corner."""
NEAR = 0.2
"""From the goal, of a room of 2 × 2."""


class Room(Environment):
    """x and y within ± 1; actions are steps of up to 0.1 along each."""

    device = torch.device("cpu")
    period, step_limit, action_width = 0.1, STEPS, 2

    def __init__(self, world_count: int, seed: int = 0) -> None:
        self.world_count = world_count
        self.generator = torch.Generator().manual_seed(seed)
        self.groups = {
            "policy": ObservationGroup((2,), Purpose.DEPLOYABLE),
            "truth": ObservationGroup((2,), Purpose.PRIVILEGED),
        }
        self.place = self._draw()
        self.time = torch.zeros(world_count, dtype=torch.int64)

    def _draw(self) -> Tensor:
        return 2 * torch.rand(self.world_count, 2, generator=self.generator) - 1

    def _look(self) -> Observations:
        return {"policy": self.place, "truth": self.place}

    def reset(self, *, scatter: bool = False) -> Observations:
        self.place = self._draw()
        ages = torch.randint(STEPS, self.time.shape, generator=self.generator)
        self.time = ages if scatter else torch.zeros_like(ages)
        return self._look()

    def step(self, action: Tensor) -> Step:
        self.place = (self.place + 0.1 * action.clamp(-1, 1)).clamp(-1, 1)
        self.time = self.time + 1
        final, done = self._look(), self.time >= STEPS
        self.place = torch.where(done[:, None], self._draw(), self.place)
        self.time = torch.where(done, 0, self.time)
        never = torch.zeros_like(done)
        return Step(
            observations=self._look(),
            reward=torch.zeros(self.world_count),  # nobody tells it what for
            terminated=never,
            truncated=done,
            final=final,
            terms={},
            failure=torch.zeros_like(self.time),
            success=never,
            invalid=never,
        )


def go(learner: Fb, prompt: Tensor, count: int, seed: int) -> Tensor:
    """(STEPS, count, 2) places of episodes under one prompt."""
    room = Room(count, seed)
    seen, places = room.reset(), []
    learner.use_prompt(prompt)
    for _ in range(STEPS - 1):
        seen = room.step(learner.act(seen)).observations
        places.append(seen["policy"])
    return torch.stack(places)


def main(updates: int) -> None:
    room = Room(32)
    s = FbSettings(discount=0.95, latent_width=32, prompt_steps=STEPS)
    s.learning_rate, s.backward_rate, s.target_rate = 3e-3, 1e-3, 0.05
    s.noise_clip = 0.05
    s.actor_widths = s.forward_widths = s.backward_widths = (64, 64)
    learner = Fb(room, s, seed=0)
    for _ in range(updates):
        learner.collect(room)
        learner.update()
    goals = Room(20, seed=1).reset()["policy"]
    ends = [
        go(learner, prompt, 16, seed=2)[-1]
        for prompt in learner.prompt_goal({"truth": goals})
    ]
    apart = (torch.stack(ends) - goals[:, None]).norm(dim=-1)
    print(f"20 goals: {(apart < NEAR).float().mean():.0%} of episodes end there.")

    places = Room(4096, seed=3).reset()["policy"]
    wanted = ((places[:, 0] > 0) & (places[:, 1] > 0.5)).float()
    prompt = learner.prompt_reward({"truth": places}, wanted)
    x, y = go(learner, prompt, 256, seed=4)[-1].unbind(-1)
    share = ((x > 0) & (y > 0.5)).float().mean()
    print(f"High, and not on the left: {share:.0%} of episodes end so.")
    print("In truth every place of the room can be reached from every other.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument(
        "--glance", action="store_true", help="every step, and hardly any learning"
    )
    main(5 if parser.parse_args().glance else 300)
