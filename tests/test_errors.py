"""What a message says: what was asked, what exists, what to try."""

from pathlib import Path

import pytest

from realworthy.errors import (
    BadFile,
    MissingExtra,
    MissingFile,
    RealworthyError,
    UnknownName,
    UnknownParameter,
    Unwritable,
    find_nearest,
)

PARAMETERS = [
    f"{leg}_{part}.{kind}"
    for leg in ("FL", "FR", "RL", "RR")
    for part in ("hip", "thigh", "calf")
    for kind in ("coulomb_friction", "contact_friction", "damping", "kp", "kd", "mass")
] + ["all.delay", "all.mass", "trunk.mass", "trunk.centre_of_mass.x"]


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [
        ("FL_calf.dampin", "FL_calf.damping"),  # a slip of the pen
        ("fl_calf.KP", "FL_calf.kp"),  # capital letters
        ("FL_calf.frictoin", "FL_calf.coulomb_friction"),  # part of a kind
        ("knee_fricton", "FL_hip.coulomb_friction"),  # a kind, and no such element
        ("trunk mass", "trunk.mass"),  # another way of joining words
        ("delay", "all.delay"),
        ("trunk.com", "trunk.mass"),
    ],
)
def test_the_nearest_name_comes_first(asked: str, nearest: str):
    assert find_nearest(asked, PARAMETERS)[0] == nearest


def test_names_of_kinds_are_found_in_each_of_their_kinds():
    near = find_nearest("FL_calf.friction", PARAMETERS)
    assert set(near[:2]) == {"FL_calf.coulomb_friction", "FL_calf.contact_friction"}


@pytest.mark.parametrize("asked", ["", "q", "gripper.temperature", "..."])
def test_what_is_like_nothing_has_no_nearest_name(asked: str):
    assert find_nearest(asked, PARAMETERS) == ()
    assert find_nearest(asked, []) == ()


def test_the_beginning_of_a_name_is_enough():
    assert find_nearest("quad", ["quadruped", "humanoid"]) == ("quadruped",)
    assert find_nearest("go2", ["unitree_go1", "unitree_go2"]) == ("unitree_go2",)


def test_at_most_three_names_are_suggested():
    assert len(find_nearest("mass", PARAMETERS)) == 3


def say(asked: str, existing: list[str], **more: str) -> str:
    return str(UnknownName("robot", asked, existing, owner="The zoo", **more))


def test_an_unknown_name_is_answered_with_the_nearest():
    assert say("zebar", ["zebra", "lion"]) == (
        "The zoo has no robot 'zebar'.\n  Nearest: 'zebra'."
    )


def test_few_names_are_listed_and_many_counted():
    assert say("cow", ["zebra", "lion"]).endswith("\n  There are: lion, zebra.")
    assert say("cow", []).endswith("\n  There are: none.")
    assert say("cow", [f"zebra{i}" for i in range(13)]).endswith("\n  There are 13.")


def test_a_command_lists_what_a_message_does_not():
    many = [f"zebra{i}" for i in range(13)]
    assert say("cow", many, listing="zoo show").endswith("\n  All 13: zoo show")
    assert say("zebra", many, listing="zoo show", hint="Or draw one.") == (
        "The zoo has no robot 'zebra'.\n"
        "  Nearest: 'zebra0', 'zebra1', 'zebra2'. Or draw one. All 13: zoo show"
    )
    assert "zoo show" not in say("cow", ["lion"], listing="zoo show")


def test_facts_are_attributes():
    error = UnknownParameter("kpp", ["kp", "kd"], owner="twin 'arm'")
    assert error.asked == "kpp"
    assert error.existing == ("kp", "kd")
    assert error.nearest == ("kp",)
    assert error.problem == "twin 'arm' has no parameter 'kpp'."
    assert BadFile("run.csv", "it is empty.").path == Path("run.csv")
    assert Unwritable("out", "no.").path == Path("out")


def test_a_problem_without_a_hint_is_one_line():
    assert str(RealworthyError("It is so.")) == "It is so."
    assert str(RealworthyError("It is so.", hint="Try.")) == "It is so.\n  Try."


def test_a_missing_file_names_its_neighbours(tmp_path: Path):
    for name in ("run1.csv", "run1.yaml", "other.csv"):
        (tmp_path / name).touch()
    assert MissingFile(tmp_path / "run.csv").hint == "Nearest: 'run1.csv', 'run1.yaml'."
    assert MissingFile(tmp_path / "photo.png").hint == ""
    gone = tmp_path / "gone"
    assert MissingFile(gone / "run.csv").hint == f"There is no folder '{gone}' either."


def test_a_missing_file_may_be_a_link(tmp_path: Path):
    (tmp_path / "run.csv").symlink_to("gone.csv")
    assert MissingFile(tmp_path / "run.csv").problem.endswith(
        "it is a link to something that is not there."
    )


def test_a_missing_library_names_its_extra():
    assert str(MissingExtra("rosbags", "ros", need="Reading ROS bags")) == (
        "Reading ROS bags needs rosbags, which is not installed.\n"
        "  Try: pip install 'realworthy[ros]'"
    )
