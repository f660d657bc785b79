"""Training: the page of a run of `train`.

Here live `page.py` (tables) and `progress.py` (success and reward over steps, and the
sentences). May import `elements`; `learning` for types only.
"""
