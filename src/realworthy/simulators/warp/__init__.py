"""What `MujocoGpu` is made of: MuJoCo Warp's arrays, kernels and order of work.

Here live the worlds as MuJoCo Warp holds them (`worlds`), model fields that differ
between worlds (`fields`), kernels that it lacks (`kernels`), one substep in its order
(`loop`) and arrays shared with PyTorch and numpy without copies (`arrays`).

Not here: the `Simulator` itself (`mujoco_gpu`). Imports `warp`, `mujoco_warp` and,
where it is installed, `torch`: import this only where a GPU's worlds are asked for.
"""
