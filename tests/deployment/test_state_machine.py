"""Phases follow each other as they may, and a stop stays a stop."""

import itertools

import pytest

from realworthy.deployment.state_machine import Machine, Phase

TRIAL = (
    Phase.PASSIVE,
    Phase.MOVE_TO_DEFAULT,
    Phase.HOLD,
    Phase.RUN,
    Phase.MOVE_TO_DEFAULT,
    Phase.PASSIVE,
    Phase.OFF,
)


def test_a_trial_from_off_to_off():
    machine = Machine()
    for time, phase in enumerate(TRIAL):
        assert machine.change(phase, float(time)) is phase
    assert [change.after for change in machine.changes] == list(TRIAL)


def test_a_policy_does_not_run_before_the_robot_holds():
    machine = Machine(Phase.PASSIVE)
    assert machine.change(Phase.RUN, 1.0) is Phase.FAULT_DAMP
    assert machine.changes[-1].reason == "passive may not become run"
    assert not machine.may_follow


def test_from_a_fault_only_braking_leads_on():
    for phase in Phase:
        machine = Machine(Phase.FAULT_DAMP)
        found = machine.change(phase, 0.0)
        allowed = (Phase.PASSIVE, Phase.STOPPED)
        assert found is (phase if phase in allowed else Phase.FAULT_DAMP)


@pytest.mark.parametrize("phase", list(Phase))
def test_a_stop_is_reached_from_anywhere_and_stays(phase: Phase):
    machine = Machine(phase)
    assert machine.change(Phase.STOPPED, 0.0, "button") is Phase.STOPPED
    for later, _ in itertools.product(Phase, range(200)):
        assert machine.change(later, 1.0) is Phase.STOPPED
    assert not machine.may_follow
    machine.reset(2.0, "Ada")
    assert machine.phase is Phase.OFF
    assert machine.changes[-1].reason == "reset by Ada"


def test_a_reset_leads_out_of_nothing_but_a_stop():
    machine = Machine(Phase.RUN)
    machine.reset(0.0, "Ada")
    assert machine.phase is Phase.RUN


def test_commands_may_be_sent_in_three_phases_only():
    may = {phase for phase in Phase if Machine(phase).may_follow}
    assert may == {Phase.MOVE_TO_DEFAULT, Phase.HOLD, Phase.RUN}
