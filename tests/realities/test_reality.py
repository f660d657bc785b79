"""The file of a reality: round trips, schema, and messages for common mistakes."""

from pathlib import Path

import pytest

from realworthy.errors import BadFile, RealworthyError, Unwritable
from realworthy.realities import (
    Interface,
    RealityFile,
    RealityNoise,
    StandIn,
    load_reality,
    save_reality,
)
from realworthy.realities.effects import Backlash, Contact, SupplySag, ThermalFade

WHOLE = RealityFile(
    schema=1,
    twin="pendulum",
    seed=7,
    description="Everything at once.",
    parameters={"joint.damping": 0.12, "all.delay": 0.012},
    effects=[
        Backlash(joint="joint", width=0.02),
        ThermalFade(joint="joint", time_constant=60.0, loss=0.2),
        SupplySag(loss=0.1),
        Contact(position=(0.5, 0.0, 0.3), size=(0.1, 0.1, 0.1)),
    ],
    interface=Interface(joint_sign=["joint"], encoder_offset={"joint": 0.03}),
    noise=RealityNoise(position=0.001, process=0.01),
    rate=50.0,
    timestep_factor=0.5,
)
DESIGN = """\
schema: 1
twin: pendulum
seed: 7
parameters: {joint.damping: 0.12, all.delay: 0.012}
effects:
  - {kind: stribeck, joint: joint, static: 0.08, velocity: 0.05}
  - {kind: backlash, joint: joint, width: 0.02}
  - {kind: thermal_fade, joint: joint, time_constant: 60, loss: 0.2}
interface:
  {joint_sign: [joint], encoder_offset: {joint: 0.03}, jitter: 0.002, loss: 0.01}
noise: {position: 0.001, velocity: 0.01, torque: 0.02, process: 0.01}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.reality.yaml"
    path.write_text(text)
    return path


def test_a_file_reads_back_as_it_was(tmp_path: Path):
    path = tmp_path / "mine.reality.yaml"
    save_reality(WHOLE, path)
    assert load_reality(path).file == WHOLE
    assert load_reality(path).name == "mine"
    assert "stale_samples" not in path.read_text()  # what is left out stays out


def test_files_are_not_written_over_unless_asked(tmp_path: Path):
    path = tmp_path / "mine.reality.yaml"
    save_reality(WHOLE, path)
    with pytest.raises(Unwritable):
        save_reality(WHOLE, path)
    save_reality(WHOLE, path, overwrite=True)


def test_a_reality_has_its_ending(tmp_path: Path):
    with pytest.raises(RealworthyError, match=r"ends in \.reality\.yaml"):
        save_reality(WHOLE, tmp_path / "mine.yaml")


def test_a_file_by_hand_runs(tmp_path: Path):
    robot = StandIn(load_reality(written(tmp_path, DESIGN)))
    robot.connect()
    robot.wait(0.1)
    assert robot.read().position.shape == (1,)


def test_a_twin_is_looked_for_beside_the_file(tmp_path: Path):
    (tmp_path / "own.xml").write_text(
        '<mujoco><worldbody><body><joint name="j"/><geom size="0.1"/></body>'
        '</worldbody><actuator><motor name="j" joint="j" ctrlrange="-1 1"/></actuator>'
        "</mujoco>"
    )
    reality = load_reality(written(tmp_path, "schema: 1\ntwin: own.xml\n"))
    assert StandIn(reality).info.joints == ("j",)


MISTAKES = {
    "noise: {velocity: -1}": "noise: velocity is -1; it must be 0 or more.",
    "timestep_factor: 0": "timestep_factor is 0; it must be above 0 and at most 4.",
    "rate: -5": "rate is -5; it must be 0 or more.",
    "twin: pendulm": "Realworthy has no twin 'pendulm'.",
    "effects: [{kind: backlash, joint: joint, width: 0}]": (
        "effects: width of backlash is 0; it must be above 0."
    ),
    "effects: [{kind: backlash, joint: elbow, width: 1}]": (
        "twin 'pendulum' has no joint 'elbow'."
    ),
    "parameters: {joint.mass: 1}": "twin 'pendulum' has no parameter 'joint.mass'.",
    "interface: {loss: 2}": "interface: loss is not a probability below 1.",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_common_mistakes_are_named_with_their_file(tmp_path: Path, text: str):
    twin = "" if text.startswith("twin") else "twin: pendulum\n"
    path = written(tmp_path, f"schema: 1\n{twin}{text}\n")
    with pytest.raises(BadFile) as caught:
        load_reality(path)
    assert caught.value.problem == f"{path}: {MISTAKES[text]}"


@pytest.mark.parametrize(
    ("line", "nearest"),
    [("noize: {}", "'noise'"), ("effects: [{kind: stribek, joint: j}]", "'stribeck'")],
)
def test_a_misspelt_key_or_effect_gets_its_nearest(
    tmp_path: Path, line: str, nearest: str
):
    path = written(tmp_path, f"schema: 1\ntwin: pendulum\n{line}\n")
    with pytest.raises(BadFile) as caught:
        load_reality(path)
    assert f"Nearest: {nearest}." in caught.value.hint


def test_a_newer_schema_is_refused(tmp_path: Path):
    with pytest.raises(BadFile, match="schema 2 is newer"):
        load_reality(written(tmp_path, "schema: 2\ntwin: pendulum\n"))


def test_an_unknown_reality_gets_its_nearest():
    with pytest.raises(RealworthyError) as caught:
        load_reality("pendulum_1_eazy")
    assert str(caught.value) == (
        "Realworthy has no reality 'pendulum_1_eazy'.\n"
        "  Nearest: 'pendulum_1_easy'. Or give a *.reality.yaml file. All: realworthy "
        "show realities"
    )
