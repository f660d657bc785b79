"""Sensors: what stands between a true signal and the number that a robot reports.

Here lives the measuring law, step by step (`stages`): delay, filter, scale, bias,
noise, quantisation, lost readings, on numpy arrays and torch tensors alike, many worlds
at a time. Tasks, realities, certification and the live view measure by it.
Not here: MuJoCo's own sensors and the numbers that a twin believes of them (`twins`),
faults of the interface such as swapped joints (`recordings`, `realities`), random
numbers (the caller draws them, so that results repeat by seed).
This room imports no other; no mujoco, no torch.
"""
