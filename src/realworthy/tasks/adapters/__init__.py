"""Our environments behind other libraries' interfaces, each loaded when asked for.

`gymnasium` has `GymnasiumWorlds`, a `VectorEnv`, and `GymnasiumWorld`, an `Env`;
`rsl_rl` has `RslRlWorlds`, its `VecEnv`. They add nothing to a task and take nothing
away but the groups of observations that the other library has no place for.
"""
