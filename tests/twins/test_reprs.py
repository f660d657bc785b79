"""What people see when they print things."""

from realworthy.twins import load_twin


def test_things_say_what_they_are_in_a_line():
    twin = load_twin("pendulum")
    assert repr(twin).startswith(
        "<twin 'pendulum': DFKI torque-limited simple pendulum"
    )
    assert repr(twin.belief.space).startswith("<10 parameters: pendulum.mass, ")
    assert repr(twin.belief).startswith("<IndependentBelief over <10 parameters: ")
