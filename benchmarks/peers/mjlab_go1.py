"""mjlab's own Go1 on flat ground, with its own PPO settings; prints steps/s."""

import tempfile
import time
from dataclasses import asdict

import mjlab.tasks  # noqa: F401  registers the tasks
from mjlab.envs import ManagerBasedRlEnv
from mjlab.rl import MjlabOnPolicyRunner, RslRlVecEnvWrapper
from mjlab.tasks.registry import load_env_cfg, load_rl_cfg, load_runner_cls

TASK, WORLDS, UPDATES = "Mjlab-Velocity-Flat-Unitree-Go1", 64, 2


def main() -> None:
    settings, agent = load_env_cfg(TASK), load_rl_cfg(TASK)
    settings.scene.num_envs = WORLDS
    environment = RslRlVecEnvWrapper(
        ManagerBasedRlEnv(cfg=settings, device="cpu"), clip_actions=agent.clip_actions
    )
    agent.logger = "tensorboard"
    runner_class = load_runner_cls(TASK) or MjlabOnPolicyRunner
    runner = runner_class(environment, asdict(agent), tempfile.mkdtemp(), "cpu")
    runner.learn(num_learning_iterations=1)  # compiles
    began = time.perf_counter()
    runner.learn(num_learning_iterations=UPDATES)
    steps = UPDATES * WORLDS * agent.num_steps_per_env
    print(steps / (time.perf_counter() - began))


if __name__ == "__main__":
    main()
