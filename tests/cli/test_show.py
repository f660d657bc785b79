"""What `show` prints, and what it writes for programs."""

import json
from pathlib import Path

import numpy as np
import pytest

from realworthy.parameters import GaussianBelief, save_belief
from realworthy.realities import reality_names
from realworthy.recordings import IMPORTERS, Recording, Sidecar, save_recording
from realworthy.twins import builtin_names, load_twin, save_twin

from .conftest import MODEL, URDF, Run, Write, swing_csv


def read(path: Path) -> dict:
    return json.loads(path.read_text())


def test_show_alone_says_how_to_go_on(run: Run):
    found = run("show")
    assert found.status == 0
    for word in ("twins", "parameters", "realities", "importers", "run.csv"):
        assert word in found.out


def test_every_twin_is_listed(run: Run, tmp_path: Path):
    found = run("show", "twins", "--json", "twins.json")
    for name in builtin_names():
        assert f"  {name} " in found.out
    assert "unitree_go2" in found.out
    result = read(tmp_path / "twins.json")
    assert [twin["name"] for twin in result["twins"]] == list(builtin_names())
    assert "unitree_go2" in result["menagerie"]
    assert found.files == ("twins.json",)


@pytest.mark.parametrize("words", [["pendulum"], ["twin", "pendulum"]])
def test_a_built_in_twin(run: Run, words: list[str]):
    assert run("show", *words).out == (
        "pendulum  DFKI torque-limited simple pendulum, a weight on a quasi-direct "
        "drive, torque input\n"
        "1 joint, 1 command, 0.676 kg, centre of gravity 0.000 0.000 0.350 m (pose "
        "home), time step 2 ms\n"
        "Base: fixed to the world (no body has a free joint).\n"
        "79 parameters: realworthy show parameters --twin pendulum\n"
        "\n"
        "Inspection: nothing looks wrong.\n"
        "\n"
        "Bodies\n"
        "             mass  centre of mass           principal inertia\n"
        "  name       [kg]             [m]                     [kg·m²]\n"
        "  pendulum  0.676     0  0  -0.45  0.009806  0.009806  0.0002\n"
        "\n"
        "Joints\n"
        "                    damping  dry friction  armature\n"
        "  name   type   [N·m·s/rad]         [N·m]   [kg·m²]\n"
        "  joint  hinge      0.04707         0.289  0.002185\n"
        "\n"
        "Actuators\n"
        "                                      torque\n"
        "  name   joint  kind   gear  command   [N·m]\n"
        "  joint  joint  motor     1      ±12     ±12\n"
        "\n"
    )


def test_a_model_of_ones_own(run: Run, write: Write):
    write("robot.xml", MODEL)
    found = run("show", "robot.xml")
    assert found.status == 0
    assert "realworthy show parameters --twin robot.xml" in found.out
    assert "hip   hinge  ±1.571" in found.out


def test_a_urdf_gets_motors_with_its_effort_limits(run: Run, write: Write):
    write("reacher.urdf", URDF)
    found = run("show", "reacher.urdf")
    assert "shoulder  hinge  -1 … 2" in found.out
    assert "shoulder  shoulder  motor     1       ±7      ±7" in found.out


def test_base_and_objects_are_shown(run: Run, tmp_path: Path):
    out = run("show", "bimanual", "--json", "two.json").out
    assert (
        "Base: fixed to the world (no actuator moves what floats). Objects: box." in out
    )
    shown = read(tmp_path / "two.json")
    assert (shown["base"], shown["objects"]) == (None, ["box"])
    run("show", "quadruped", "--json", "dog.json")
    assert read(tmp_path / "dog.json")["base"] == {"body": "trunk", "joint": "base"}


def test_a_urdf_stands_free_where_asked(run: Run, write: Write):
    write("reacher.urdf", URDF)
    massless = run("show", "reacher.urdf", "--base", "free")
    assert massless.status == 2
    assert "mass and inertia of moving bodies" in massless.err
    inertial = URDF[URDF.index("<inertial>") : URDF.index("</inertial>")]
    heavy = f'<link name="base">{inertial}</inertial></link>'
    write("reacher.urdf", URDF.replace('<link name="base"/>', heavy))
    assert "Base: fixed to the world" in run("show", "reacher.urdf").out
    found = run("show", "reacher.urdf", "--base", "free")
    assert "Base: base, floating (actuators move it)." in found.out
    part = ("show", "parameters", "base.mass", "--twin", "reacher.urdf")
    assert run(*part).status == 2
    assert run(*part, "--base", "free").status == 0
    wrong = run("show", "reacher.urdf", "--base", "trunk")
    assert wrong.status == 2
    assert "has no floating body 'trunk'" in wrong.err


def test_two_files_of_one_robot_are_compared(run: Run, write: Write):
    write("robot.xml", MODEL)
    write("other.xml", MODEL.replace('mass="1"', 'mass="1.5"'))
    found = run("show", "robot.xml", "--against", "other.xml")
    assert found.status == 0
    assert "differs from 'other.xml'" in " ".join(found.out.split())
    assert run("show", "robot.xml", "--against", "gone.xml").status == 2


def test_sliding_joints_are_in_metres(run: Run, write: Write):
    write("rail.xml", MODEL.replace("axis=", 'type="slide" axis='))
    out = run("show", "rail.xml").out
    assert "[m]" in out
    assert "[N·s/m]" in out
    assert "rad" not in out
    mixed = '<body><joint name="slider" type="slide"/><geom size="0.1"/></body>'
    write("mixed.xml", MODEL.replace("</worldbody>", f"{mixed}</worldbody>"))
    out = run("show", "mixed.xml").out
    assert "Of slides, read m for rad, N for N·m and kg for kg·m²." in out


def test_what_is_empty_is_left_out(run: Run, write: Write):
    write("still.xml", '<mujoco><worldbody><geom size="1"/></worldbody></mujoco>')
    found = run("show", "still.xml")
    assert found.status == 0
    assert "0 joints, 0 commands" in found.out
    assert "Bodies" not in found.out
    assert "Actuators" not in found.out


def test_names_that_look_like_markup_are_shown_as_they_are(run: Run, write: Write):
    write("robot.xml", MODEL.replace('name="link"', 'name="[red]link[/x]"'))
    assert "[red]link[/x]" in run("show", "robot.xml").out


def test_warnings_of_mujoco_are_one_line_and_leave_no_file(run: Run, write: Write):
    flex = '<flexcomp name="f" type="grid" count="3 3 1" spacing=".1 .1 .1" dim="2"/>'
    write("soft.xml", f"<mujoco><worldbody>{flex}</worldbody></mujoco>")
    found = run("show", "soft.xml")
    assert (found.status, found.files) == (0, ())
    assert found.err.startswith("Warning: flex 'f' is not rigid")
    assert found.err.count("\n") == 1


def test_a_calibrated_twin_shows_its_belief(run: Run, tmp_path: Path):
    twin = load_twin("pendulum")
    space = twin.space.select(["joint.damping", "pendulum.mass"])
    spread = [[0.01, -0.008], [-0.008, 0.01]]
    belief = GaussianBelief(space, np.log([0.1, 0.7]), spread)
    save_twin(twin.with_belief(belief), tmp_path / "mine.twin.yaml")
    out = run("show", "mine.twin.yaml").out
    assert "Belief about 2 parameters" in out
    assert "joint.damping  0.1005  ± 0.01   N·m·s/rad  pendulum.mass (-0.80)" in out


def test_parameters_with_a_part_in_their_names(run: Run, tmp_path: Path):
    found = run("show", "parameters", "delay", "--twin", "cartpole", "--json", "p.json")
    assert found.out.splitlines()[:4] == [
        "8 parameters of cartpole",
        "  name                        nominal  lower  upper  transform  unit",
        "  cart.delay                        0      0    0.1  identity   s",
        "  all.delay                         0      0    0.1  identity   s",
    ]
    result = read(tmp_path / "p.json")
    assert result["twin"] == "cartpole"
    assert result["parameters"][0]["name"] == "cart.delay"


def test_a_bound_that_is_none_is_infinite(run: Run, tmp_path: Path):
    found = run(
        *("show", "parameters", "gear", "--twin", "pendulum", "--json", "gear.json")
    )
    assert "joint.gear        1     -∞      ∞  identity   1" in found.out
    assert read(tmp_path / "gear.json")["parameters"][0]["upper"] is None


def test_many_parameters_are_shown_by_kind(run: Run):
    out = run("show", "parameters", "--twin", "quadruped").out
    assert out.startswith("666 parameters of quadruped, by kind\n")
    assert "  torque_limit             13  FL_hip.torque_limit           23.7" in out
    assert "realworthy show parameters PART --twin quadruped" in out
    everything = run("show", "parameters", ".", "--twin", "quadruped").out
    assert everything.startswith("666 parameters of quadruped\n")
    assert len(everything.splitlines()) == 669


def test_parameters_of_nobody(run: Run):
    run("show", "parameters").check_mistake(
        "RealworthyError: Whose parameters? A twin is missing.\n"
        "  Try: realworthy show parameters mass --twin pendulum\n"
    )


def test_a_second_word_that_means_nothing(run: Run):
    run("show", "pendulum", "mass").check_mistake(
        "RealworthyError: 'mass' after 'pendulum' is one word too many.\n"
        "  Its parameters: realworthy show parameters mass --twin pendulum\n"
    )


def test_every_reality_is_listed(run: Run):
    out = run("show", "realities").out
    for name in reality_names():
        assert f"  {name} " in out


def test_the_truth_of_a_reality_without_what_is_as_usual(run: Run, tmp_path: Path):
    found = run("show", "reality", "pendulum_2_late", "--json", "truth.json")
    assert found.out.startswith("pendulum_2_late  Commands ")
    assert "all.delay: 0.012" in found.out
    assert "joint_order" not in found.out
    assert "timestep_factor" not in found.out
    assert read(tmp_path / "truth.json")["file"]["twin"] == "pendulum"


def test_importers(run: Run):
    out = run("show", "importers").out
    for name, importer in IMPORTERS.items():
        assert f"  {name} " in out
        assert importer.summary in out
    one = run("show", "importers", "rosbag").out
    assert "Expects a .bag file" in one
    assert "realworthy show PATH --importer rosbag" in one


def test_a_belief_file(run: Run, tmp_path: Path):
    space = load_twin("pendulum").space.select(["joint.damping"])
    belief = GaussianBelief(space, [np.log(0.1)], [[0.01]])
    save_belief(belief, tmp_path / "my.belief.yaml")
    found = run("show", "my.belief.yaml", "--json", "belief.json")
    assert found.out.startswith("Belief about 1 parameter\n")
    assert read(tmp_path / "belief.json")["mean"]["joint.damping"] == pytest.approx(
        0.1 * np.exp(0.005), rel=1e-6
    )


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "npz", "parquet", "mcap"])
def test_one_recording_in_every_format(run: Run, tmp_path: Path, suffix: str):
    time = np.arange(100) / 100
    signals = {"joint.position": np.sin(time), "joint.command": np.cos(time)}
    sidecar = Sidecar(command_kind="torque", rate=100.0)
    save_recording(Recording(time, signals, sidecar), tmp_path / f"run.{suffix}")
    assert run("show", f"run.{suffix}", "--twin", "pendulum").out == (
        "run  100 rows, 0.990 s at 100 Hz (regular)\n"
        "Signals\n"
        "  name               min    max     rms  unit\n"
        "  joint.position       0  0.836  0.5188  rad\n"
        "  joint.command   0.5487      1  0.8549  N·m\n"
        "\n"
        "Sidecar\n"
        "  command_kind: torque\n"
        "  rate: 100.0\n"
        "\n"
    )


def test_a_folder_of_recordings(run: Run, write: Write, tmp_path: Path):
    for name in ("a", "b", "c"):
        write(f"logs/{name}.csv", swing_csv())
    found = run("show", "logs", "--json", "logs.json")
    assert found.out == (
        "3 recordings, 3.0 s in all\n"
        "              duration  rate\n"
        "  name  rows       [s]  [Hz]\n"
        "  a      100      0.99   100\n"
        "  b      100      0.99   100\n"
        "  c      100      0.99   100\n"
        "\n"
        "Joints: joint\n"
    )
    assert [r["name"] for r in read(tmp_path / "logs.json")["recordings"]] == [*"abc"]


def test_recordings_of_different_joints_say_which(run: Run, write: Write):
    write("logs/a.csv", swing_csv("hip"))
    write("logs/b.csv", swing_csv("knee"))
    out = run("show", "logs").out
    assert "  a      100      0.99   100  hip\n" in out
    assert "Joints:" not in out


def test_what_looks_wrong_in_a_recording(run: Run, write: Write):
    rows = swing_csv().splitlines(keepends=True)
    write("gap.csv", "".join(rows[:40] + rows[60:]))
    out = run("show", "gap.csv").out
    assert out.startswith("gap  80 rows, 0.990 s at 100 Hz (irregular, 1 gap)\n")
    assert "Suspicious: 1 step takes more than 2.5 periods" in out


def test_a_name_in_capital_letters_is_a_recording_too(run: Run, write: Write):
    write("RUN.CSV", swing_csv())
    assert run("show", "RUN.CSV").status == 0


@pytest.mark.parametrize(
    ("importer", "path", "said"),
    [
        ("so101_sage", "so101_sage/custom_motion", "custom_motion  6000 rows"),
        ("bam_servos", "bam_servos/xl330", "12 recordings, "),
        ("dfki_simple_pendulum", "dfki_simple_pendulum", "6 recordings, "),
        ("dfki_double_pendulum", "dfki_double_pendulum", "46 recordings, "),
        ("crazypad", "crazypad", "60 recordings, "),
    ],
)
def test_recordings_of_real_robots(
    run: Run, data_folder: Path, importer: str, path: str, said: str
):
    found = run("show", data_folder / path, "--importer", importer)
    assert (found.status, found.err, found.files) == (0, "", ())
    assert found.out.startswith(said)


def test_a_robot_of_menagerie(
    run: Run, menagerie_root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie_root))
    found = run("show", "menagerie:unitree_go2")
    assert found.status == 0
    assert found.out.startswith("unitree_go2\n13 joints, 12 commands, 15.21 kg")
    assert "--twin menagerie:unitree_go2" in found.out


def test_json_replaces_a_file_only_when_told(run: Run, write: Write, tmp_path: Path):
    write("old.json", "{}")
    assert run("show", "importers", "--json", "old.json").status == 2
    assert read(tmp_path / "old.json") == {}
    assert run("show", "importers", "--json", "old.json", "--overwrite").status == 0
    assert "rosbag" in read(tmp_path / "old.json")["importers"]


def test_json_goes_into_folders_that_it_makes(run: Run, tmp_path: Path):
    found = run("show", "importers", "--json", "results/today/importers.json")
    assert found.status == 0
    assert read(tmp_path / "results" / "today" / "importers.json")


def test_a_mistake_leaves_no_json_and_no_folder(run: Run):
    assert run("show", "nothing", "--json", "results/today.json").files == ()
