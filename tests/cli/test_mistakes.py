"""The mistakes that everyone makes: each one clear message, status 2, nothing left."""

import os
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from .conftest import MODEL, URDF, Run, Write, swing_csv

CSV = "time,joint.position\n"


# recordings


def test_a_joint_that_the_twin_does_not_have(run: Run, write: Write):
    write("run.csv", swing_csv("knee"))
    run("show", "run.csv", "--twin", "pendulum").check_mistake(
        "UnknownName: twin 'pendulum' has no joint 'knee'.\n"
        "  There are: joint. It is in recording 'run': name it as the twin does, in "
        "the mapping of its sidecar.\n"
    )


@pytest.mark.parametrize("command", ["show", "convert"])
def test_nan_in_a_recording(run: Run, write: Write, command: str):
    write("run.csv", CSV + "0,0\n0.01,nan\n0.02,0\n")
    output = ["--output", "out"] if command == "convert" else []
    run(command, "run.csv", *output).check_mistake(
        "BadRecording: recording 'run': 'joint.position' has 1 of 3 values that are "
        "not numbers; the first, nan, at 0.01 s.\n"
        "  Drop those rows or that column; gaps are never filled silently.\n"
    )


@pytest.mark.parametrize("command", ["show", "convert"])
def test_time_running_backwards(run: Run, write: Write, command: str):
    write("run.csv", CSV + "0,0\n0.02,0\n0.01,0\n")
    output = ["--output", "out"] if command == "convert" else []
    run(command, "run.csv", *output).check_mistake(
        "BadRecording: recording 'run': time runs backwards in row 3: 0.01 s after "
        "0.02 s.\n"
        "  Sort the rows, drop repeated ones, or split the file where the clock was "
        "set.\n"
    )


@pytest.mark.parametrize("command", ["show", "convert"])
def test_degrees_where_radians_are_promised(run: Run, write: Write, command: str):
    write("run.csv", swing_csv(scale=180 / np.pi))
    output = ["--output", "out"] if command == "convert" else []
    run(command, "run.csv", *output).check_mistake(
        "BadRecording: recording 'run': 'joint.position' is in degrees: "
        "'joint.velocity' is 0.01745 × the derivative of 'joint.position' "
        "(correlation 1.000).\n"
        "  Put into its sidecar:  mapping: {joint.position: {scale: "
        "0.017453292519943295}}\n"
    )


def test_a_recording_that_is_not_there(run: Run, write: Write):
    write("run_1.csv", swing_csv())
    run("show", "run1.csv").check_mistake(
        "MissingFile: run1.csv: there is no such file.\n  Nearest: 'run_1.csv'.\n"
    )
    run("convert", "logs/run.csv", "--output", "out").check_mistake(
        "MissingFile: logs/run.csv: there is no such file.\n"
        "  There is no folder 'logs' either.\n"
    )


def test_a_link_to_nothing(run: Run, tmp_path: Path):
    (tmp_path / "run.csv").symlink_to("gone.csv")
    run("show", "run.csv").check_mistake(
        "MissingFile: run.csv: it is a link to something that is not there.\n"
    )


def test_a_folder_without_recordings(run: Run, write: Write):
    write("logs/note.txt", "nothing")
    run("show", "logs").check_mistake(
        "BadFile: logs: it is a folder without recordings.\n"
        "  Formats: .csv, .csv.gz, .npz, .parquet, .mcap. Foreign layouts: realworthy "
        "show importers\n"
    )


def test_an_importer_that_does_not_exist(run: Run, write: Write):
    write("run.csv", swing_csv())
    found = run("show", "run.csv", "--importer", "rosbags")
    assert found.status == 2
    assert found.err.startswith(
        "UnknownName: Realworthy has no importer 'rosbags'.\n  Nearest: 'rosbag'."
    )


def test_a_misspelt_key_in_a_sidecar(run: Run, write: Write):
    write("run.csv", swing_csv())
    write("run.yaml", "comand_kind: position\n")
    run("show", "run.csv").check_mistake(
        "BadFile: run.yaml: there is no key 'comand_kind'.\n"
        "  Nearest: 'command_kind'. docs/artefacts.md lists every key.\n"
    )


# files of another kind


def test_a_file_that_nothing_reads(run: Run, write: Write):
    write("photo.png", "x")
    run("show", "photo.png").check_mistake(
        "BadFile: photo.png: nothing here reads such a file.\n"
        "  Models end in .xml or .urdf, recordings in .csv, .csv.gz, .npz, .parquet, "
        ".mcap; foreign recordings need --importer.\n"
    )


def test_a_foreign_log_without_its_importer(run: Run, write: Write):
    write("bench.json", '{"entries": []}')
    run("show", "bench.json").check_mistake(
        "BadFile: bench.json: nothing here reads such a file.\n"
        "  It looks like bam_servos: try --importer bam_servos\n"
    )


def test_yaml_whose_name_does_not_say_what_it_is(run: Run, write: Write):
    write("mine.yaml", "schema: 1\ntwin: pendulum\n")
    run("show", "mine.yaml").check_mistake(
        "BadFile: mine.yaml: its name does not say what it is.\n"
        "  Names end in .twin.yaml, .reality.yaml or .belief.yaml; a sidecar is shown "
        "with its recording.\n"
    )


@pytest.mark.parametrize("kind", ["twin", "reality", "belief"])
def test_an_empty_file(run: Run, write: Write, kind: str):
    write(f"my.{kind}.yaml", "")
    run("show", f"my.{kind}.yaml").check_mistake(
        f"BadFile: my.{kind}.yaml: it is empty.\n  docs/artefacts.md lists every key.\n"
    )


@pytest.mark.parametrize("kind", ["twin", "reality", "belief"])
def test_a_binary_file(run: Run, tmp_path: Path, kind: str):
    (tmp_path / f"my.{kind}.yaml").write_bytes(bytes(range(256)))
    run("show", f"my.{kind}.yaml").check_mistake(
        f"BadFile: my.{kind}.yaml: it is not text.\n  Save it as UTF-8.\n"
    )


def test_yaml_that_is_none(run: Run, write: Write):
    write("my.twin.yaml", "schema: 1\nname: [a\nmodel: b\n")
    run("show", "my.twin.yaml").check_mistake(
        "BadFile: my.twin.yaml: it is not YAML: did not find expected ',' "
        "or ']' (line 3, column 6).\n"
    )


def test_a_file_of_a_newer_realworthy(run: Run, write: Write):
    write("my.twin.yaml", "schema: 9\nname: a\nmodel: pendulum\n")
    run("show", "my.twin.yaml").check_mistake(
        "BadFile: my.twin.yaml: schema 9 is newer than this Realworthy reads (1).\n"
        "  Try: pip install --upgrade realworthy\n"
    )


# twins


def write_twin(write: Write, more: str) -> None:
    write("my.twin.yaml", f"schema: 1\nname: mine\nmodel: pendulum\n{more}\n")


def test_an_unknown_parameter_on_the_command_line(run: Run):
    run("show", "parameters", "knee_fricton", "--twin", "quadruped").check_mistake(
        "UnknownParameter: twin 'quadruped' has no parameter 'knee_fricton'.\n"
        "  Nearest: 'all.coulomb_friction', 'all.contact_friction', "
        "'world.contact_friction'. All 666: realworthy show parameters --twin "
        "quadruped\n"
    )


def test_an_unknown_parameter_in_a_twin_file(run: Run, write: Write):
    write_twin(write, "parameters: {joint.dampin: {value: 1}}")
    run("show", "my.twin.yaml").check_mistake(
        "UnknownParameter: twin 'mine' has no parameter 'joint.dampin'.\n"
        "  Nearest: 'joint.damping'. All 79: realworthy show parameters --twin "
        "pendulum\n"
    )


def test_an_unknown_parameter_in_a_reality(run: Run, write: Write):
    write(
        "my.reality.yaml", "schema: 1\ntwin: pendulum\nparameters: {joint.dampin: 1}\n"
    )
    run("show", "my.reality.yaml").check_mistake(
        "BadFile: my.reality.yaml: twin 'pendulum' has no parameter 'joint.dampin'.\n"
        "  Nearest: 'joint.damping'. All 79: realworthy show parameters --twin "
        "pendulum\n"
    )


def test_a_value_that_a_parameter_cannot_have(run: Run, write: Write):
    write_twin(write, "parameters: {joint.damping: {value: -1}}")
    run("show", "my.twin.yaml").check_mistake(
        "BadFile: my.twin.yaml: twin 'mine': 'joint.damping' cannot be -1 N·m·s/rad.\n"
        "  It lies within [0, inf].\n"
    )


def test_a_value_that_is_nan(run: Run, write: Write):
    write_twin(write, "parameters: {joint.damping: {value: .nan}}")
    run("show", "my.twin.yaml").check_mistake(
        "BadFile: my.twin.yaml: parameters.joint.damping.value is not a number "
        "(NaN).\n  docs/artefacts.md lists every key.\n"
    )


def test_text_where_a_number_should_be(run: Run, write: Write):
    write_twin(write, "parameters: {joint.gear: {value: 1}, joint.damping: {value: a}}")
    run("show", "my.twin.yaml").check_mistake(
        "BadFile: my.twin.yaml: parameters.joint.damping.value: it should be a number, "
        "not text.\n  docs/artefacts.md lists every key.\n"
    )


def test_a_belief_that_is_not_positive_definite(run: Run, write: Write):
    write_twin(
        write,
        "belief: {type: gaussian, names: [joint.damping, pendulum.mass], "
        "mean_z: [-3, 0], covariance_z: [[1, 2], [2, 1]]}",
    )
    run("show", "my.twin.yaml").check_mistake(
        "BadBelief: my.twin.yaml: The covariance of this belief is not positive "
        "definite: its smallest eigenvalue is -1, in a direction of joint.damping, "
        "pendulum.mass.\n"
        "  Drop one of these parameters, or add to the covariance's diagonal.\n"
    )


def test_an_actuator_of_a_joint_that_is_not_there(run: Run, write: Write):
    write_twin(write, "actuators: {knee: {joint: knee, controller: {kind: torque}}}")
    run("show", "my.twin.yaml").check_mistake(
        "UnknownName: twin 'mine' has no joint 'knee'.\n  There are: joint.\n"
    )


def test_an_actuator_that_cannot_be(run: Run, write: Write):
    write_twin(
        write,
        "actuators: {drive: {joint: joint, controller: {kind: position, kp: -3}}}",
    )
    run("show", "my.twin.yaml").check_mistake(
        "BadFile: my.twin.yaml: actuators.drive.controller: position: kp is -3; it "
        "must be above 0.\n  Its unit is N·m/rad.\n"
    )


def test_a_twin_whose_model_is_not_there(run: Run, write: Write):
    write("robot.xml", MODEL)
    write("my.twin.yaml", "schema: 1\nname: mine\nmodel: robto.xml\n")
    run("show", "my.twin.yaml").check_mistake(
        "BadFile: my.twin.yaml: its model 'robto.xml' is not there.\n"
        "  Nearest: 'robot.xml'.\n"
    )


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Quadruped", "Nearest: 'quadruped'. Try: realworthy show"),
        ("go2", "In Menagerie: 'menagerie:unitree_go2'. Try: realworthy show"),
        ("importes", "Nearest: 'importers'. Try: realworthy show"),
    ],
)
def test_a_word_that_means_nothing(run: Run, asked: str, answer: str):
    found = run("show", asked)
    problem = f"UnknownName: Realworthy has no twin or topic '{asked}'."
    if asked == "go2":
        assert (found.status, found.err.splitlines()[0]) == (2, problem)
        assert answer in found.err
    else:
        found.check_mistake(f"{problem}\n  {answer}\n")


def test_an_unknown_robot_of_menagerie(run: Run):
    run("show", "menagerie:unitree_go22").check_mistake(
        "UnknownName: MuJoCo Menagerie has no robot 'unitree_go22'.\n"
        "  Nearest: 'unitree_go2', 'unitree_go1', 'unitree_g1'. All 69: realworthy "
        "show twins\n"
    )


def test_menagerie_where_there_is_none(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path / "nowhere"))
    run("show", "menagerie:unitree_go2").check_mistake(
        "RealworthyError: Menagerie robot 'unitree_go2' is not at hand: 'unitree_go2' "
        f"not found under MENAGERIE_ROOT={tmp_path / 'nowhere'}.\n"
        "  Set MENAGERIE_ROOT to a copy of mujoco_menagerie, or go online once.\n"
    )


def test_a_menagerie_entry_that_is_not_there(run: Run, menagerie_root: Path):
    run("show", "menagerie:unitree_go2/scen").check_mistake(
        "UnknownName: Menagerie robot 'unitree_go2' has no entry 'scen'.\n"
        "  Nearest: 'scene', 'scene_mjx'.\n"
    )


# models


MEND = "  Correct the model; realworthy show FILE checks it again.\n"
REJECTED = "BadModel: MuJoCo rejects the model of twin 'robot': "
MODELS = {
    "a body without mass": (
        '<mujoco><worldbody><body name="link"><joint/></body></worldbody></mujoco>',
        f"{REJECTED}mass and inertia of moving bodies must be larger than mjMINVAL "
        "('link', line 1)\n"
        "  Give it a mass: an <inertial>, or a shape with mass or density.\n",
    ),
    "a mesh that is not there": (
        '<mujoco><asset><mesh name="m" file="gone.stl"/></asset><worldbody>'
        '<geom type="mesh" mesh="m"/></worldbody></mujoco>',
        f"{REJECTED}Error opening file 'gone.stl'\n"
        "  The model names a file that is not there; paths are relative to the model "
        "and its meshdir or texturedir.\n",
    ),
    "a motor on no joint": (
        MODEL.replace('joint="hip"', 'joint="knee"'),
        f"{REJECTED}unknown transmission target 'knee' for actuator id = 0 ('hip', "
        f"line 9)\n{MEND}",
    ),
    "not XML": (
        MODEL.replace("</worldbody>", ""),
        "BadModel: MuJoCo cannot read robot.xml: it is not XML (line 11)\n"
        "  Correct the file at that line.\n",
    ),
    "an unknown element": (
        MODEL.replace("geom", "gem"),
        "BadModel: MuJoCo cannot read robot.xml: Schema violation: unrecognized "
        "element ('gem', line 5)\n  Correct the file; MuJoCo's message names the "
        "place.\n",
    ),
    "NaN": (
        MODEL.replace('damping="0.1"', 'damping="nan"'),
        "BadModel: robot.xml holds a number that is NaN.\n"
        "  Search the file for 'nan'.\n",
    ),
    "no time step": (
        MODEL.replace("<mujoco>", '<mujoco><option timestep="0"/>'),
        "BadModel: The time step of twin 'robot' is 0 s.\n"
        '  Set option timestep="0.002", or what the robot needs.\n',
    ),
    "a body called all": (
        MODEL.replace('name="link"', 'name="all"'),
        "BadModel: robot.xml has a body called 'all', which stands for all of them.\n"
        "  Give the body another name.\n",
    ),
}


@pytest.mark.parametrize("case", MODELS)
def test_a_model_that_mujoco_rejects(run: Run, write: Write, case: str):
    model, message = MODELS[case]
    write("robot.xml", model.strip())
    run("show", "robot.xml").check_mistake(message)


def test_a_urdf_without_inertia(run: Run, write: Write):
    start, end = URDF.index("<inertial>"), URDF.index("</inertial>")
    write("robot.urdf", URDF[:start] + URDF[end + len("</inertial>") :])
    run("show", "robot.urdf").check_mistake(
        f"{REJECTED}mass and inertia of moving bodies must be larger than mjMINVAL "
        "('upper')\n  Give it a mass: an <inertial>, or a shape with mass or density.\n"
    )


def test_a_model_in_capital_letters(run: Run, write: Write):
    write("ROBOT.XML", MODEL)
    run("show", "ROBOT.XML").check_mistake(
        "BadModel: ROBOT.XML is not a model: MuJoCo reads .xml (MJCF) and .urdf "
        "files.\n  Give it one of these endings, in small letters, if it is one.\n"
    )


# places to write to


def test_an_unwritable_folder(run: Run, write: Write):
    write("run.csv", swing_csv())
    run("convert", "run.csv", "--output", "/proc/out").check_mistake(
        "Unwritable: Cannot write /proc/out/run.csv: No such file or directory.\n"
        "  Choose a folder that you may write to, on a disk with room.\n"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_of_someone_else(run: Run, write: Write, tmp_path: Path):
    write("run.csv", swing_csv())
    (tmp_path / "theirs").mkdir(mode=0o555)
    run("convert", "run.csv", "--output", "theirs").check_mistake(
        "Unwritable: Cannot write theirs/run.csv: Permission denied.\n"
        "  Choose a folder that you may write to, on a disk with room.\n"
    )


def test_json_where_a_file_stands_already(run: Run, write: Write):
    write("old.json", "{}")
    run("show", "pendulum", "--json", "old.json").check_mistake(
        "Unwritable: Cannot write old.json: it exists already.\n"
        "  Choose another name, or give --overwrite (overwrite=True).\n"
    )


def test_json_into_a_folder_or_a_device(run: Run):
    run("show", "pendulum", "--json", ".").check_mistake(
        "Unwritable: Cannot write .: it is a folder.\n  Give a file name inside it.\n"
    )
    run("show", "pendulum", "--json", os.devnull, "--overwrite").check_mistake(
        f"Unwritable: Cannot write {os.devnull}: it is not an ordinary file.\n"
    )


def test_json_that_cannot_be_written_stops_the_work_before_it_begins(
    run: Run, write: Write
):
    write("run.csv", swing_csv())
    found = run("convert", "run.csv", "--output", "out", "--json", "/proc/x/y.json")
    found.check_mistake(
        "Unwritable: Cannot write /proc/x/y.json: No such file or directory.\n"
        "  Choose a folder that you may write to, on a disk with room.\n"
    )


def test_a_full_disk(run: Run, write: Write, monkeypatch: pytest.MonkeyPatch):
    write("run.csv", swing_csv())

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    for form in ("csv", "npz", "parquet", "mcap"):
        found = run("convert", "run.csv", "--output", "out", "--format", form)
        assert found.status == 2
        assert found.files == ()
        assert "No space left on device." in found.err


def test_a_file_that_may_not_be_read(
    run: Run, write: Write, monkeypatch: pytest.MonkeyPatch
):
    write("my.twin.yaml", "schema: 1\nname: mine\nmodel: pendulum\n")

    def deny(path: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    reading = import_module("realworthy.artefacts.reading")  # not its function
    monkeypatch.setattr(reading, "open", deny, raising=False)
    run("show", "my.twin.yaml").check_mistake(
        "BadFile: my.twin.yaml: Permission denied.\n"
    )


def test_a_file_that_is_far_too_large(run: Run, tmp_path: Path):
    with (tmp_path / "huge.twin.yaml").open("wb") as file:
        file.truncate(300 * 2**20)
    run("show", "huge.twin.yaml").check_mistake(
        "BadFile: huge.twin.yaml: reading it would take too many bytes of memory "
        "(6.29e+08; the limit is 536,870,912).\n"
        "  If you trust it, allow more: REALWORTHY_MAX_BYTES=1073741824\n"
    )


# numbers that do not fit


def test_rows_of_a_belief_that_differ_in_length(run: Run, write: Write):
    write(
        "my.belief.yaml",
        "parameters: [{name: a.mass, kind: mass, unit: kg, nominal: 1, "
        "binding: {elements: [a]}}]\n"
        "belief: {type: gaussian, names: [a.mass, b.mass], mean_z: [1, 1], "
        "covariance_z: [[1, 0], [0]]}\n",
    )
    run("show", "my.belief.yaml").check_mistake(
        "BadBelief: Rows of this belief differ in length.\n"
    )


def test_one_array_under_the_name_of_an_archive(run: Run, tmp_path: Path):
    with (tmp_path / "run.npz").open("wb") as file:
        np.save(file, np.arange(3.0))
    run("show", "run.npz").check_mistake(
        "BadFile: run.npz: it is not an archive of plain NumPy arrays (File is "
        "not a zip file).\n"
    )


def test_a_rate_of_zero_is_suspicious(run: Run, write: Write):
    write("run.csv", swing_csv())
    write("run.yaml", "rate: 0\n")
    found = run("show", "run.csv")
    assert found.status == 0
    assert "the sidecar says 0 Hz, the rows come at 100 Hz." in found.out


@pytest.mark.parametrize("command", ["diagnose", "calibrate"])
def test_too_little_data_says_how_much_it_takes(run: Run, write: Write, command: str):
    write("run.csv", swing_csv(rows=5))
    more = ["--output", "x.twin.yaml"] if command == "calibrate" else []
    run(command, "pendulum", "run.csv", *more).check_mistake(
        f"BadRecording: Too little to {command}: the recording holds 0.04 s in 5 "
        "rows.\n"
        "  It takes 0.25 s and 16 rows at the very least, and about 20 s of motion of "
        "every joint for an answer. realworthy excite TWIN designs such a motion.\n"
    )


@pytest.mark.parametrize("command", ["certify", "deploy"])
def test_a_recording_is_no_policy(run: Run, write: Write, command: str):
    write("run.csv", swing_csv())
    more = ["--robot", "sim:pendulum_1_easy"] if command == "deploy" else []
    run(command, "run.csv", *more).check_mistake(
        "BadFile: run.csv: this is a recording, not a policy.\n"
        "  A policy is an .onnx file. How far a twin is from the recording: realworthy "
        "measure TWIN run.csv\n"
    )
