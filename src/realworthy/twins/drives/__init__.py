"""What drives the joints of a twin, as MuJoCo runs it.

Here live the choice between MuJoCo's native form of an actuator and its explicit law
(`install`), learned drives as files (`networks`), and the law that listens to a network
only within the envelope of what it was trained on (`fallback`).

Not here: the laws themselves and what a twin file says of an actuator (`actuators`),
stepping explicit laws (`simulators.explicit_laws`), training networks
(`identification.networks`).
"""
