"""Foreign: policies of other trainers, which carry no contract of ours.

Here live what an exporter wrote into an `.onnx` (`notes.py`), the terms that names of
mjlab and Isaac Lab stand for (`terms.py`), the contract as far as it is known
(`tree.py`) and the draft that is shown to a user (`draft.py`): each key read, assumed
or missing.

Here does not live the check of a whole contract against a twin (`contract`). May import
`policies` and rooms above it; nothing else of certification.
"""
