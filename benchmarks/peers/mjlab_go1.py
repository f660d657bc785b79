"""mjlab's own Go1 on flat ground, with its own PPO settings.

    python mjlab_go1.py MINUTES [WORLDS DEVICE]

64 worlds on the CPU unless told otherwise. How it walks is what it says itself of
practice: the velocity error that its command adds up over an episode, divided by how
long episodes last. Prints a line of JSON.
"""

import json
import sys
import tempfile
import time
from dataclasses import asdict

import mjlab.tasks  # noqa: F401  registers the tasks
from mjlab.envs import ManagerBasedRlEnv
from mjlab.rl import MjlabOnPolicyRunner, RslRlVecEnvWrapper
from mjlab.tasks.registry import load_env_cfg, load_rl_cfg, load_runner_cls

TASK, UPDATES = "Mjlab-Velocity-Flat-Unitree-Go1", 2


def main() -> None:
    minutes = float(sys.argv[1])
    worlds, device = (int(sys.argv[2]), sys.argv[3]) if sys.argv[2:] else (64, "cpu")
    settings, agent = load_env_cfg(TASK), load_rl_cfg(TASK)
    settings.scene.num_envs = worlds
    inner = ManagerBasedRlEnv(cfg=settings, device=device)
    environment = RslRlVecEnvWrapper(inner, clip_actions=agent.clip_actions)
    agent.logger = "tensorboard"
    runner_class = load_runner_cls(TASK) or MjlabOnPolicyRunner
    runner = runner_class(environment, asdict(agent), tempfile.mkdtemp(), device)
    runner.learn(num_learning_iterations=1)  # compiles
    command = inner.command_manager.get_term("twist")
    whole = inner.max_episode_length
    unit = command.cfg.resampling_time_range[1] / inner.step_dt
    size, curve, reached = worlds * agent.num_steps_per_env, [], None
    began, steps = time.perf_counter(), 0
    while time.perf_counter() - began < 60 * minutes or len(curve) < UPDATES:
        runner.learn(num_learning_iterations=1)
        steps, seconds = steps + size, time.perf_counter() - began
        # of the episodes that run, by what they lasted so far
        lasted = inner.episode_length_buf.clamp(min=1).float()
        error = float((command.metrics["error_vel_xy"] * unit / lasted).mean())
        lasts = 2 * float(lasted.mean()) / whole
        row = {"seconds": seconds, "steps": steps}
        curve.append({**row, "mean_velocity_error": error, "lasts": lasts})
        if reached is None and error <= 0.25 and lasts >= 0.95:
            reached = seconds
    rate = steps / curve[-1]["seconds"]
    print(json.dumps({"rate": rate, "reached": reached, "curve": curve}))


if __name__ == "__main__":
    main()
