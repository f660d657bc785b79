"""Deployment: what may reach a motor, and everything that happens when it may not.

`CommandFilter` bounds every command, `Watchdogs` judge every measurement, `Machine`
says which phase a trial is in, `Loop` keeps the beat, and `deploy` runs a policy on a
`Robot` through all of them, one recording per trial. Guards do not raise: they return a
`Decision` with its reason, and the safe answer is the default. `mrac` adapts a joint's
drive while it runs.

Here do not live transports (`robots`), policies (`policies`) or stand-in robots
(`realities`). Needs neither torch nor mujoco. May import: `parameters`, `recordings`,
`robots`, `policies`, `actuators`, `sensors`.
"""
