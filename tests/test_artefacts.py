"""Files are written whole or not at all, and read strictly."""

import math
import os
import re
import stat
from pathlib import Path
from typing import Literal

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from realworthy.artefacts import (
    check_free,
    dump_yaml,
    load,
    make_folder,
    save,
    to_yaml,
    writing,
)
from realworthy.artefacts.text import parse_yaml
from realworthy.errors import BadFile, MissingFile, RealworthyError, Unwritable


def list_names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


# writing


def test_a_file_appears_when_the_block_ends(tmp_path: Path):
    with writing(tmp_path / "a.csv") as temporary:
        temporary.write_text("whole")
        assert not (tmp_path / "a.csv").exists()
        assert temporary.parent == tmp_path
        assert temporary.name.endswith(".csv")  # writers choose their format by it
    assert (tmp_path / "a.csv").read_text() == "whole"
    assert list_names(tmp_path) == {"a.csv"}


def write_half(path: Path, error: type[BaseException]) -> None:
    """A writer that comes to grief half way."""
    with writing(path, overwrite=True) as temporary:
        temporary.write_text("half")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_block_that_raises_leaves_nothing(tmp_path: Path, error: type[BaseException]):
    with pytest.raises(error):
        write_half(tmp_path / "new" / "a.csv", error)
    assert list_names(tmp_path) == set()


def test_a_block_that_raises_keeps_the_old_file(tmp_path: Path):
    (tmp_path / "a.csv").write_text("old")
    with pytest.raises(ValueError):
        write_half(tmp_path / "a.csv", ValueError)
    assert (tmp_path / "a.csv").read_text() == "old"
    assert list_names(tmp_path) == {"a.csv"}


def test_folders_that_were_there_stay(tmp_path: Path):
    (tmp_path / "old").mkdir()
    with pytest.raises(ValueError), writing(tmp_path / "old" / "new" / "a.csv"):
        raise ValueError
    assert list_names(tmp_path) == {"old"}


def test_an_existing_file_is_replaced_only_when_told(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(Unwritable) as caught, writing(path):
        pass
    assert str(caught.value) == (
        f"Cannot write {path}: it exists already.\n"
        "  Choose another name, or give --overwrite (overwrite=True)."
    )
    assert path.read_text() == "old"
    with writing(path, overwrite=True) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "new"


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_permissions_follow_the_umask(tmp_path: Path, mask: int):
    before = os.umask(mask)
    try:
        with writing(tmp_path / "a.csv") as temporary:
            temporary.write_text("x")
    finally:
        os.umask(before)
    mode = stat.S_IMODE((tmp_path / "a.csv").stat().st_mode)
    assert mode == 0o666 & ~mask


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with (
        pytest.raises(Unwritable, match=r"a\.csv: No space left on device\."),
        writing(tmp_path / "new" / "a.csv") as temporary,
    ):
        temporary.write_text("half")
    assert list_names(tmp_path) == set()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_disk_that_fills_up_in_the_block_leaves_nothing(tmp_path: Path):
    with (
        pytest.raises(Unwritable, match=r"No space left on device\."),
        writing(tmp_path / "a.csv"),
        open("/dev/full", "w") as file,
    ):
        file.write("x" * 100_000)
    assert list_names(tmp_path) == set()


def test_trouble_with_another_file_is_not_ours(tmp_path: Path):
    with pytest.raises(FileNotFoundError), writing(tmp_path / "a.csv"):
        (tmp_path / "missing.txt").read_text()
    assert list_names(tmp_path) == set()


def test_a_link_stays_a_link(tmp_path: Path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "a.csv").write_text("old")
    (tmp_path / "a.csv").symlink_to("store/a.csv")
    with writing(tmp_path / "a.csv", overwrite=True) as temporary:
        temporary.write_text("new")
    assert (tmp_path / "a.csv").is_symlink()
    assert (tmp_path / "store" / "a.csv").read_text() == "new"


def test_a_link_to_nothing_is_in_the_way_too(tmp_path: Path):
    (tmp_path / "a.csv").symlink_to("gone.csv")
    with pytest.raises(Unwritable, match="it exists already"):
        check_free(tmp_path / "a.csv")


def test_folders_and_devices_are_refused(tmp_path: Path):
    with pytest.raises(Unwritable, match="it is a folder"):
        check_free(tmp_path, overwrite=True)
    with pytest.raises(Unwritable, match="it is not an ordinary file"):
        check_free(os.devnull, overwrite=True)
    with pytest.raises(Unwritable, match="too long"):
        check_free(tmp_path / ("x" * 300))


def test_a_folder_that_takes_no_files_is_said_at_once(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(Unwritable, match="file is a file, not a folder"):
        check_free(tmp_path / "file" / "deep" / "a.csv")
    check_free(tmp_path / "new" / "deep" / "a.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_of_somebody_else_is_said_at_once(tmp_path: Path):
    tmp_path.chmod(0o500)
    with pytest.raises(Unwritable, match="Permission denied"):
        check_free(tmp_path / "new" / "a.csv")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc")
def test_where_there_is_no_disk_is_said_at_once():
    with pytest.raises(Unwritable, match=r"/proc/junit\.xml: No such file"):
        check_free("/proc/junit.xml")


def test_long_names_are_fine(tmp_path: Path):
    name = "x" * 240 + ".csv.gz"
    with writing(tmp_path / name) as temporary:
        temporary.write_text("x")
        assert temporary.name.endswith(".csv.gz")
    assert list_names(tmp_path) == {name}


# reading


class Wheel(msgspec.Struct, forbid_unknown_fields=True, tag="wheel", tag_field="kind"):
    radius: float


class Leg(msgspec.Struct, forbid_unknown_fields=True, tag="leg", tag_field="kind"):
    length: float

    def __post_init__(self) -> None:
        if self.length < 0:
            raise ValueError("length is negative")


class Gains(msgspec.Struct, forbid_unknown_fields=True):
    kp: float | None = None

    def __post_init__(self) -> None:
        if self.kp is not None and self.kp < 0:
            raise BadGains("kp is negative.", hint="Turn the motor round.")


class BadGains(RealworthyError, ValueError):
    """A mistake inside a file, as the actuators raise it."""


class Robot(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    schema: int
    name: str
    mass: float = 1.0
    size: tuple[float, ...] = ()
    surface: Literal["rough", "smooth"] = "rough"
    gains: dict[str, Gains] = {}
    limbs: list[Wheel | Leg] = []
    notes: dict[str, object] = {}


def read(tmp_path: Path, text: str | bytes, schema: int = 1) -> Robot:
    path = tmp_path / "robot.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load(path, Robot, schema=schema)


def problem(tmp_path: Path, text: str | bytes) -> str:
    """What is said of a file, without its path."""
    with pytest.raises(BadFile) as caught:
        read(tmp_path, text)
    return str(caught.value).removeprefix(f"{tmp_path / 'robot.yaml'}: ")


KEYS = "docs/artefacts.md lists every key."


def test_a_file_is_read(tmp_path: Path):
    robot = read(tmp_path, "schema: 1\nname: ada\ngains: {hip: {kp: 3}}\n")
    assert robot == Robot(1, "ada", gains={"hip": Gains(3.0)})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nam: a", f"there is no key 'nam'.\n  Nearest: 'name'. {KEYS}"),
        ("name: a\nbattery: 3", f"there is no key 'battery'.\n  {KEYS}"),
        ("mass: 3", f"the key 'name' is missing.\n  {KEYS}"),
        ("name: a\nmass: heavy", f"mass: it should be a number, not text.\n  {KEYS}"),
        ("name: a\nmass:", f"mass: it should be a number, not empty.\n  {KEYS}"),
        ("name: 3", f"name: it should be text, not a whole number.\n  {KEYS}"),
        (
            "name: a\nsize: [1, b]",
            f"size[1]: it should be a number, not text.\n  {KEYS}",
        ),
        (
            "name: a\ngains: {hip: {kp: 1}, left.knee: {kp: x}}",
            f"gains.left.knee.kp: it should be a number, not text.\n  {KEYS}",
        ),
        (
            "name: a\ngains: {hip: 3}",
            f"gains.hip: it should be keys with values, not a whole number.\n  {KEYS}",
        ),
        (
            "name: a\ngains: {hip: {kp: 1}, knee: {kp: -1}}",
            "gains.knee: kp is negative.\n  Turn the motor round.",
        ),
        (
            "name: a\nsurface: roug",
            f"surface: 'roug' is not one of the choices.\n  Nearest: 'rough'. {KEYS}",
        ),
        (
            "name: a\nlimbs: [{kind: leg, length: 1}, {kind: wheell, radius: 1}]",
            f"limbs[1].kind: 'wheell' is not one of the choices.\n  Nearest: 'wheel'. "
            f"{KEYS}",
        ),
        (
            "name: a\nlimbs: [{kind: leg, length: -1}]",
            f"limbs[0]: length is negative.\n  {KEYS}",
        ),
        ("1: a", f"its keys should be text.\n  {KEYS}"),
        ("name: a\ngains: {3: {}}", f"gains: its keys should be text.\n  {KEYS}"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, said: str):
    assert problem(tmp_path, f"schema: 1\n{text}\n") == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", f"it is empty.\n  {KEYS}"),
        ("# nothing\n", f"it is empty.\n  {KEYS}"),
        ("- a\n- b\n", f"it holds no mapping of keys to values.\n  {KEYS}"),
        ("just text", f"it holds no mapping of keys to values.\n  {KEYS}"),
        ("a: [1", "it is not YAML: did not find expected ',' or ']' (line 2, column"),
        (
            "a: 1\n\tb: 2",
            "it is not YAML: found a tab character that violates inden",
        ),
        ("a: 1\nb: 2\na: 3", "it is not YAML: the key 'a' stands twice (line 3, colu"),
        ("a: !!python/name:os.system", "it is not YAML: could not determine a constr"),
        ("a: \x00", "it is not YAML: unacceptable character #x0000: control characte"),
        ("[" * 1000, "it holds lists or keys within each other without end."),
        ("name: &a [*a]", "it holds lists or keys within each other without end."),
        (b"name: \xff\xfe", "it is not text.\n  Save it as UTF-8."),
        ("name: a".encode("utf-16"), "it is not text.\n  Save it as UTF-8."),
    ],
)
def test_what_is_not_yaml_is_refused(tmp_path: Path, text: str | bytes, said: str):
    assert problem(tmp_path, text).startswith(said)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("mass: .nan", "mass"),
        ("size: [1, .NaN]", "size[1]"),
        ("gains: {hip: {kp: .nan}}", "gains.hip.kp"),
    ],
)
def test_nan_is_never_a_number(tmp_path: Path, text: str, place: str):
    said = problem(tmp_path, f"name: a\n{text}\n")
    assert said == f"{place} is not a number (NaN).\n  {KEYS}"


def test_free_notes_may_say_what_they_like(tmp_path: Path):
    robot = read(tmp_path, "name: a\nnotes: {best: .nan, at: 2026-11-15, ok: no}\n")
    assert str(robot.notes["best"]) == "nan"
    assert robot.notes["at"] == "2026-11-15"
    assert robot.notes["ok"] == "no"


def test_a_byte_order_mark_does_no_harm(tmp_path: Path):
    assert read(tmp_path, "name: a\n".encode("utf-8-sig")).name == "a"


def test_files_that_cannot_be_read_at_all(tmp_path: Path):
    with pytest.raises(MissingFile, match="there is no such file"):
        load(tmp_path / "gone.yaml", Robot, schema=1)
    with pytest.raises(BadFile, match="it is a folder, not a file"):
        load(tmp_path, Robot, schema=1)


# schemas


def rename(tree: dict[str, object]) -> dict[str, object]:
    """Schema 1 called the mass `weight`."""
    tree["mass"] = tree.pop("weight")
    return tree


def convert(tree: dict[str, object]) -> dict[str, object]:
    """Schema 2 had it in grams."""
    grams = tree["mass"]
    assert isinstance(grams, int | float)
    return {**tree, "mass": grams / 1000}


@pytest.mark.parametrize(
    ("schema", "line"), [(1, "weight: 2500"), (2, "mass: 2500"), (3, "mass: 2.5")]
)
def test_older_files_are_brought_up_step_by_step(
    tmp_path: Path, schema: int, line: str
):
    path = tmp_path / "robot.yaml"
    path.write_text(f"schema: {schema}\nname: a\n{line}\n")
    migrators = {1: rename, 2: convert}
    assert load(path, Robot, schema=3, migrators=migrators) == Robot(3, "a", 2.5)


def test_a_file_without_a_schema_is_of_this_one(tmp_path: Path):
    assert read(tmp_path, "name: a\n", schema=3).schema == 3


def test_a_newer_file_is_refused(tmp_path: Path):
    assert problem(tmp_path, "schema: 2\nname: a\n") == (
        "schema 2 is newer than this Realworthy reads (1).\n"
        "  Try: pip install --upgrade realworthy"
    )


@pytest.mark.parametrize("schema", ["one", "0", "-1", "1.0", "true", "[1]"])
def test_a_schema_is_a_whole_number(tmp_path: Path, schema: str):
    said = problem(tmp_path, f"schema: {schema}\nname: a\n")
    assert re.fullmatch(r"schema is .*\.\n  Write schema: 1", said)


# text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3),
        ("1E5", 1e5),
        ("-2e+4", -2e4),
        (".5", 0.5),
        ("1.", 1.0),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("12", 12),
        ("true", True),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("2026-11-15", "2026-11-15"),
        ("1e", "1e"),
        ("e5", "e5"),
        ("null", None),
    ],
)
def test_yaml_is_read_as_version_1_2(text: str, value: object):
    found = parse_yaml(f"a: {text}")
    assert found == {"a": value}
    assert isinstance(found, dict)
    assert type(found["a"]) is type(value)


@given(st.floats(allow_nan=False))
def test_floats_come_back_to_the_bit(value: float):
    found = parse_yaml(dump_yaml({"a": value, "b": [value]}))
    assert isinstance(found, dict)
    for back in (found["a"], *found["b"]):
        assert isinstance(back, float)
        assert math.copysign(1, back) == math.copysign(1, value)
        assert back == value


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])),
        st.one_of(
            st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])),
            st.sampled_from(
                ["1e3", ".5", "no", "True", "null", "~", "2026-11-15", "0x1f", "1_000"]
            ),
        ),
    )
)
def test_text_comes_back_as_text(tree: dict[str, str]):
    text = dump_yaml(tree)
    assert parse_yaml(text) == tree
    assert yaml.safe_load(text) == tree  # readable without Realworthy


def test_a_struct_comes_back(tmp_path: Path):
    robot = Robot(
        1,
        "1e3",
        mass=0.1 + 0.2,
        size=(math.inf, -0.0, 5e-324),
        gains={"hip": Gains(1e22)},
        limbs=[Wheel(0.1), Leg(0.5)],
    )
    save(tmp_path / "robot.yaml", robot)
    assert load(tmp_path / "robot.yaml", Robot, schema=1) == robot
    assert "size: [.inf, -0.0, 5.0e-324]" in to_yaml(robot)  # a vector is a line


# the page

PAGE = (Path(__file__).parents[1] / "docs" / "artefacts.md").read_text("utf-8")
EXAMPLES = dict(re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))
REACHER = """
<robot name="reacher"><link name="base"/><link name="upper"><inertial>
<origin xyz="0 0 -0.1"/><mass value="1.5"/>
<inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
<limit lower="-1" upper="2" effort="7" velocity="3"/></joint></robot>
"""


def keys_of(kind: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(kind)}


def test_the_page_has_one_example_of_each_file():
    assert list(EXAMPLES) == [
        "reacher.twin.yaml",
        "bench.belief.yaml",
        "run.yaml",
        "worn.reality.yaml",
    ]


def test_the_examples_are_complete_and_can_be_read(tmp_path: Path):
    from realworthy.parameters.belief_files import BeliefFile, load_belief
    from realworthy.realities import RealityFile, load_reality
    from realworthy.recordings import Sidecar, load_sidecar
    from realworthy.twins import load_twin
    from realworthy.twins.files import TwinFile

    (tmp_path / "reacher.urdf").write_text(REACHER)
    for name, text in EXAMPLES.items():
        (tmp_path / name).write_text(text)
    twin = load_twin(tmp_path / "reacher.twin.yaml")
    assert twin.compiled.model.body("upper").mass == 1.62
    assert twin.belief.mean["upper.mass"] == pytest.approx(1.62, rel=1e-3)
    assert load_belief(tmp_path / "bench.belief.yaml").space.names[0] == "arm.damping"
    assert load_sidecar(tmp_path / "run.yaml").rate == 50
    assert load_reality(tmp_path / "worn.reality.yaml").file.seed == 7
    for name, kind in (
        ("reacher.twin.yaml", TwinFile),
        ("bench.belief.yaml", BeliefFile),
        ("run.yaml", Sidecar),
        ("worn.reality.yaml", RealityFile),
    ):
        tree = parse_yaml(EXAMPLES[name])
        assert isinstance(tree, dict)
        assert set(tree) == keys_of(kind), name


def test_every_key_is_on_the_page():
    from realworthy.parameters import Binding, Parameter
    from realworthy.parameters.belief_files import BeliefText
    from realworthy.parameters.marginals import Marginal
    from realworthy.realities import Interface, RealityFile, RealityNoise
    from realworthy.recordings import Gains, Sidecar, SignalSource
    from realworthy.recordings.sidecar import SignalNoise as SidecarNoise
    from realworthy.twins import Datasheet, Provenance
    from realworthy.twins.files import TwinFile
    from realworthy.twins.twin import ParameterText, RecordingEvidence

    kinds = [
        TwinFile,
        ParameterText,
        Datasheet,
        Provenance,
        RecordingEvidence,
        Parameter,
    ]
    kinds += [Binding, Sidecar, SignalSource, Gains, SidecarNoise, RealityFile]
    kinds += [Interface, RealityNoise, *BeliefText.__args__, *Marginal.__args__]
    for kind in kinds:
        missing = {key for key in keys_of(kind) if f"`{key}`" not in PAGE}
        assert missing == set(), kind.__name__
    for choice in (*BeliefText.__args__, *Marginal.__args__):
        assert f"| `{choice.__struct_config__.tag}` |" in PAGE


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("x")
    with pytest.raises(Unwritable, match="it is a file"):
        make_folder(tmp_path / "file")
    with pytest.raises(Unwritable, match="file/below"):
        make_folder(tmp_path / "file" / "below")
