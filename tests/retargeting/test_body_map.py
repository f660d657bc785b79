"""Body maps fit their robots, and what they leave out is said."""

from pathlib import Path

import msgspec
import pytest

from realworthy.errors import RealworthyError, UnknownName
from realworthy.retargeting.body_map import check_map, find_map, list_maps
from realworthy.retargeting.draft import draft_map
from realworthy.retargeting.figure import load_figure
from realworthy.twins import load_twin

ROBOTS = {
    "unitree_g1": "menagerie:unitree_g1",
    "unitree_h1": "menagerie:unitree_h1",
    "unitree_go2": "menagerie:unitree_go2",
    "unitree_a1": "menagerie:unitree_a1",
    "humanoid": "humanoid",
    "quadruped": "quadruped",
}


@pytest.mark.parametrize("name", ROBOTS)
def test_a_written_map_fits_its_robot_and_a_draft_agrees(
    name: str, monkeypatch: pytest.MonkeyPatch, menagerie_root: Path
):
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    twin, written = load_twin(ROBOTS[name]), list_maps()[name]
    figure = load_figure(written.figure)
    check_map(written, twin, figure)
    assert find_map(twin, figure) == written
    draft = draft_map(twin, figure)
    assert draft.points == written.points
    assert draft.feet == written.feet


def test_another_robot_gets_a_draft(
    monkeypatch: pytest.MonkeyPatch, menagerie_root: Path
):
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    twin = load_twin("menagerie:booster_t1")
    assert find_map(twin, load_figure("human")) is None
    draft = draft_map(twin)
    check_map(draft, twin, load_figure("human"))
    assert draft.points["left_elbow"].body == "AL3"
    assert draft.points["right_knee"].body == "Shank_Right"


def test_a_map_that_leaves_a_foot_out_is_refused():
    twin, figure = load_twin("humanoid"), load_figure("human")
    whole = list_maps()["humanoid"]
    lame = msgspec.structs.replace(whole, feet={"left": "left_foot"})
    with pytest.raises(RealworthyError, match="leaves out the right foot"):
        check_map(lame, twin, figure)
    points = {k: v for k, v in whole.points.items() if k != "left_ankle"}
    with pytest.raises(RealworthyError, match="no 'left_ankle', which its left leg"):
        check_map(msgspec.structs.replace(whole, points=points), twin, figure)


def test_a_map_of_another_robot_is_refused():
    twin = load_twin("quadruped")
    with pytest.raises(UnknownName, match="no body 'torso'"):
        check_map(list_maps()["humanoid"], twin, load_figure("human"))
    with pytest.raises(
        RealworthyError, match="is for a human, and the motion is a dog"
    ):
        check_map(list_maps()["humanoid"], twin, load_figure("dog"))


@pytest.mark.parametrize(
    ("twin", "message"),
    [("arm", "it is fixed to the world"), ("quadruped", "has 4 feet")],
)
def test_robots_without_two_feet_are_no_people(twin: str, message: str):
    with pytest.raises(RealworthyError, match=message):
        draft_map(load_twin(twin), load_figure("human"))
