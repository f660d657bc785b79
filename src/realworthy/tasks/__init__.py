"""What a robot shall do: observations, rewards, commands, endings. Torch from here on.

An `Environment` is what learners see: many worlds stepped together. A `Task` says what
is observed, rewarded and wanted of one twin, on tensors of all worlds; `TaskWorlds`
runs it on either simulator. `TASKS` lists what there is. Reference controllers stand
beside their tasks: they give reference returns and show that the task can be done.
`adapters` shows worlds to Gymnasium and rsl_rl; `tables`, `automatic` and `curriculum`
say how worlds differ.

Learning from it lives in `learning`, judging a policy in `certification`. May import
every room above it, `policies` among them, whose terms are the observations.
"""

from realworthy.errors import MissingExtra

try:
    import torch  # noqa: F401
except ImportError:
    raise MissingExtra("torch", "train", need="Tasks and learning") from None
