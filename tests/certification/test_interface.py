"""Every planted disagreement between policy and task is found, and nothing else is."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest
import torch

from realworthy.certification.contract.check import (
    Aspect,
    ContractFinding,
    Mark,
    check_interface,
    check_playable,
)
from realworthy.errors import RealworthyError
from realworthy.policies import Contract, Linear
from realworthy.policies.contract import (
    Delays,
    DriveGains,
    InputRange,
    JointLimits,
    NormaliserRecord,
    Spread,
    TwinReference,
)
from realworthy.tasks.catalogue import build_task
from realworthy.tasks.contract import build_contract
from realworthy.tasks.environment.worlds import TaskWorlds
from tests.certification.linear import PROVENANCE, load_linear
from tests.certification.mutants import (
    Degrees,
    FaultSide,
    FlippedSign,
    Mutant,
    ReversedHistory,
    StaleNormaliser,
    SwappedJoints,
    list_mutants,
    miswire,
    mutate,
)

change = msgspec.structs.replace


@pytest.fixture(scope="module")
def worlds() -> TaskWorlds:
    return TaskWorlds(build_task("reach"), 8)


@pytest.fixture(scope="module")
def seen(worlds: TaskWorlds) -> np.ndarray:
    """(n, width) observations of random play."""
    generator = torch.Generator().manual_seed(0)
    rows = [worlds.reset()["policy"]]
    for _ in range(40):
        action = torch.randn(8, 6, generator=generator).clamp(-1, 1)
        rows.append(worlds.step(action).observations["policy"])
    return torch.cat(rows).numpy()


@pytest.fixture
def own(worlds: TaskWorlds, seen: np.ndarray) -> Contract:
    """As training would write it."""
    sd = tuple((seen.std(axis=0) + 0.01).tolist())
    scaled = NormaliserRecord(mean=tuple(seen.mean(axis=0).tolist()), sd=sd)
    return change(build_contract(worlds), provenance=PROVENANCE, normaliser=scaled)


def faults(found: tuple[ContractFinding, ...]) -> dict[Aspect, Mark]:
    """The worst mark of every aspect that is not fine."""
    worst = {f.name: f.mark for f in found if f.mark is Mark.WARNING}
    return worst | {f.name: f.mark for f in found if f.mark is Mark.FAILED}


def find(found: tuple[ContractFinding, ...], aspect: Aspect) -> ContractFinding:
    return next(f for f in found if f.name is aspect and f.mark is not Mark.OK)


@pytest.mark.parametrize("task", ["reach", "drive_goal", "quadruped", "pendulum"])
def test_a_task_fits_itself(task: str):
    worlds = TaskWorlds(build_task(task), 1)
    contract = change(build_contract(worlds), provenance=PROVENANCE)
    found = check_interface(contract, worlds)
    assert faults(found) == {}
    assert {f.name for f in found} == {*Aspect} - {Aspect.PARITY}
    check_playable(found, task=task)


def test_a_policy_is_also_asked_its_own_examples(worlds, own, seen, tmp_path):
    policy, _ = load_linear(tmp_path, own)
    assert faults(check_interface(policy, worlds, seen=seen)) == {}


def test_parity_finds_every_mutant_of_a_policy_that_carries_examples(
    worlds, own, tmp_path
):
    policy, _ = load_linear(tmp_path, own, worlds=2)
    mutants = list_mutants(policy.contract)
    assert len(mutants) == 7
    for mutant in mutants:
        found = check_interface(mutate(policy, mutant), worlds)
        assert faults(found)[Aspect.PARITY] is Mark.FAILED, mutant


def test_a_policy_without_examples_is_said_to_have_none(worlds, own, tmp_path):
    policy, _ = load_linear(tmp_path, own)
    bare = change(policy.contract, parity=None, provenance=None)
    found = check_interface(replace(policy, contract=bare), worlds)
    assert faults(found)[Aspect.PARITY] is Mark.WARNING


SWAP = {"first": "elbow_flex", "second": "wrist_flex"}
WIRINGS: list[tuple[Mutant, tuple[Aspect, ...]]] = [
    (SwappedJoints(**SWAP, side=FaultSide.OBSERVATION), (Aspect.ORDER,)),
    (SwappedJoints(**SWAP, side=FaultSide.ACTION), (Aspect.ORDER,)),
    (FlippedSign(joint="elbow_flex", side=FaultSide.OBSERVATION), (Aspect.SIGNS,)),
    (FlippedSign(joint="elbow_flex", side=FaultSide.ACTION), (Aspect.SIGNS,)),
    (Degrees(joints=("elbow_flex",)), (Aspect.UNITS, Aspect.OFFSETS)),
]


@pytest.mark.parametrize(("mutant", "aspects"), WIRINGS, ids=str)
def test_a_contract_of_ours_that_is_wired_wrongly_fails(worlds, own, mutant, aspects):
    found = check_interface(miswire(own, mutant), worlds)
    assert {name for name, mark in faults(found).items() if mark is Mark.FAILED} == set(
        aspects
    )


def test_a_foreign_policy_may_have_an_order_of_its_own_and_is_asked_about_it(
    worlds, own
):
    foreign = change(own, provenance=None)
    mutant, _ = WIRINGS[0]
    found = check_interface(miswire(foreign, mutant), worlds)
    assert faults(found) == {Aspect.ORDER: Mark.WARNING}
    about = find(found, Aspect.ORDER).about
    assert "'wrist_flex.position' stands in place 3 instead of" in about
    assert "2 of 6 places differ" in about
    degrees = check_interface(miswire(foreign, WIRINGS[-1][0]), worlds)
    assert faults(degrees)[Aspect.UNITS] is Mark.FAILED
    assert "180/π" in find(degrees, Aspect.UNITS).about


def test_a_normaliser_of_another_training_is_seen_in_play(worlds, own, seen):
    width = own.width
    shifted = tuple((np.array(own.normaliser.mean) + 20 * seen.std(axis=0)).tolist())
    stale = StaleNormaliser(mean=shifted, sd=own.normaliser.sd)
    found = check_interface(miswire(own, stale), worlds, seen=seen)
    assert faults(found) == {Aspect.NORMALISER: Mark.FAILED}
    wide = StaleNormaliser(mean=own.normaliser.mean, sd=(1e3,) * width)
    found = check_interface(miswire(own, wide), worlds, seen=seen)
    assert faults(found) == {Aspect.NORMALISER: Mark.WARNING}
    unseen = check_interface(miswire(own, stale), worlds)
    assert faults(unseen) == {}
    assert any("no observations were given" in f.about for f in unseen)


def test_the_worst_number_of_a_stale_normaliser_is_named(worlds, own, seen):
    mean = list(own.normaliser.mean)
    mean[8] += 30 * own.normaliser.sd[8]
    stale = StaleNormaliser(mean=tuple(mean), sd=own.normaliser.sd)
    found = check_interface(miswire(own, stale), worlds, seen=seen)
    about = find(found, Aspect.NORMALISER).about
    assert about.startswith("speed: elbow_flex.velocity is seen 3")
    assert "1 of 21" in about


def wide_limits(own: Contract) -> dict[str, JointLimits]:
    return own.limits | {"elbow_flex": JointLimits(lower=-3.0, upper=1.0, effort=2.94)}


CHANGES = [
    ({"period": 0.01}, Aspect.RATE, Mark.FAILED, "10 ms; the task acts every 20 ms"),
    ({"substeps": 4}, Aspect.RATE, Mark.WARNING, "4 physics steps in training, 10"),
    ({"task": "walk"}, Aspect.TWIN, Mark.WARNING, "for task 'walk', not 'reach'"),
    (
        {"twin": TwinReference(name="ur5e", reference="menagerie:ur5e")},
        Aspect.TWIN,
        Mark.WARNING,
        "twin 'ur5e', not 'arm'",
    ),
    (
        {"delays": Delays(observation=(0.0, 0.0), action=(0.01, 0.02))},
        Aspect.DELAYS,
        Mark.WARNING,
        "0 … 0 ms here; it was trained on 10 … 20 ms",
    ),
    (
        {"envelope": {"elbow_flex.kp": Spread(lower=20.0, upper=30.0)}},
        Aspect.ENVELOPE,
        Mark.WARNING,
        "elbow_flex.kp is 13, trained on 20 … 30",
    ),
]


@pytest.mark.parametrize(("changes", "aspect", "mark", "words"), CHANGES)
def test_numbers_that_differ_are_named(worlds, own, changes, aspect, mark, words):
    found = check_interface(change(own, **changes), worlds)
    assert faults(found) == {aspect: mark}
    assert words in find(found, aspect).about


@pytest.mark.parametrize(
    ("kp", "mark"), [(13.1, None), (13.7, Mark.WARNING), (26.0, Mark.FAILED)]
)
def test_gains_are_compared_with_the_twins(worlds, own, kp: float, mark: Mark | None):
    gains = own.gains | {"elbow_flex": DriveGains(kp=kp, kd=0.4)}
    found = check_interface(change(own, gains=gains), worlds)
    assert faults(found).get(Aspect.GAINS) is mark
    drawn = {"elbow_flex.kp": Spread(lower=10.0, upper=15.0)}
    found = check_interface(change(own, gains=gains, envelope=drawn), worlds)
    assert faults(found) == {}


def test_limits_wider_than_the_twins_fail_and_missing_ones_are_named(worlds, own):
    found = check_interface(change(own, limits=wide_limits(own)), worlds)
    assert faults(found)[Aspect.LIMITS] is Mark.FAILED
    about = [f.about for f in found if f.name is Aspect.LIMITS]
    assert about == [
        "Lower of elbow_flex is -3, the twin's -1.69: 1 limit is wider.",
        "It states no elbow_flex.velocity, which the twin limits.",
    ]


def test_a_zero_action_must_be_possible(worlds, own):
    offset = (5.0, *own.action.offset[1:])
    changed = change(own, provenance=None, action=change(own.action, offset=offset))
    found = check_interface(changed, worlds)
    assert faults(found)[Aspect.RANGE] is Mark.FAILED
    assert "is 5, outside the twin's -1.91986 … 1.91986" in (
        find(found, Aspect.RANGE).about
    )


def test_histories_are_compared_and_only_play_sees_their_direction(tmp_path):
    worlds = TaskWorlds(build_task("drive_goal"), 1)
    own = change(build_contract(worlds), provenance=PROVENANCE)
    shorter = tuple(change(term, history=3) for term in own.terms)
    found = check_interface(change(own, terms=shorter), worlds)
    assert faults(found) == {Aspect.HISTORY: Mark.FAILED}
    policy, _ = load_linear(tmp_path, change(own, normaliser=None))
    bare = change(policy.contract, parity=None, provenance=None)
    mutant = mutate(replace(policy, contract=bare), ReversedHistory())
    found = check_interface(mutant, worlds)
    assert Mark.FAILED not in faults(found).values()


def test_what_names_nothing_cannot_be_played(worlds, own):
    lamp = Linear(name="lamp", signals=("lamp.brightness",))
    action = change(own.action, commands=("tail.command", *own.action.commands[1:]))
    wrong = change(
        own,
        joints=(*own.joints, "tail"),
        terms=(*own.terms, lamp),
        action=action,
        gains=own.gains | {"tail": DriveGains(kp=1.0, kd=0.0)},
        inputs=own.inputs | {"mood": InputRange(lower=0, upper=1, default=0)},
        normaliser=None,
    )
    found = check_interface(wrong, worlds)
    blocking = {f.name for f in found if f.blocks}
    assert blocking == {
        Aspect.JOINTS,
        Aspect.COMMANDS,
        Aspect.MEASURABLE,
        Aspect.INPUTS,
    }
    with pytest.raises(RealworthyError) as caught:
        check_playable(found, task="reach")
    for name in ("tail.command", "joint 'tail'", "lamp.brightness", "'mood'"):
        assert name in caught.value.problem


def test_another_kind_of_command_cannot_be_played(worlds, own):
    torques = change(own, command_kind="torque", gains={})
    found = check_interface(torques, worlds)
    assert find(found, Aspect.COMMANDS).blocks
    assert "is of kind position in the twin" in find(found, Aspect.COMMANDS).about


def test_what_only_the_simulator_knows_fails_and_can_be_played():
    worlds = TaskWorlds(build_task("quadruped"), 1)
    own = change(build_contract(worlds), provenance=PROVENANCE)
    cheat = Linear(name="speed", signals=("base.velocity.x",))
    found = check_interface(change(own, terms=(*own.terms, cheat)), worlds)
    assert faults(found) == {
        Aspect.MEASURABLE: Mark.FAILED,
        Aspect.TERMS: Mark.FAILED,
    }
    check_playable(found, task="quadruped")


def test_inputs_that_go_further_than_in_training_are_named():
    worlds = TaskWorlds(build_task("quadruped"), 1)
    own = change(build_contract(worlds), provenance=PROVENANCE)
    slow = own.inputs | {"command.forward": InputRange(lower=0, upper=0.5, default=0)}
    found = check_interface(change(own, inputs=slow), worlds)
    assert faults(found) == {Aspect.INPUTS: Mark.WARNING}
    assert (
        "from -1 to 1; it was trained on 0 to 0.5" in find(found, Aspect.INPUTS).about
    )
