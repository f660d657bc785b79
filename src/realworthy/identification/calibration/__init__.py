"""`calibrate`: from a twin and recordings to a twin with a belief, judged unseen.

Here live the order in which things are done (`calibrate`), what each kind of drive
asks for (`stages`, `duty_servos`, `servo_forms`), the choice of parameters and pieces,
what a twin may lack (`support_surface`), verdicts and advice (`estimates`), and the
checkpoint file with which interrupted work goes on.

Here does not live what solves (`solver`) and what judges (`validation`). May import all
other sub-packages but `experiments` and `networks`.
"""
