"""Does a fit hold on experiments that it has not seen?

Here live the division into fitted and held-out recordings and their errors
(`held_out`), cross-validation, estimates without some experiments (`resampling`), and
the choice among structures, such as friction models, by held-out loss (`structures`).

Here do not live the fits themselves (`solver`). May import `identifiability`, `solver`
and `problem`.
"""
