"""Small files that ask for much: refused before it is done, in words and in time.

Each case is a few lines that make one file. All but a few seconds of the suite are in
this process, so a limit that fails shows as a slow test or as a killed one.
"""

import gzip
import os
import resource
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from realworthy.artefacts import BYTES, check_readable
from realworthy.certification.suite.suite import load_suite
from realworthy.errors import BadFile, RealworthyError
from realworthy.policies import load_policy
from realworthy.realities import load_reality
from realworthy.recordings import load_recording, load_recordings, load_sidecar
from realworthy.twins import load_twin

Make = Callable[[Path], Path]
SECONDS, MEMORY = 10.0, 2 * 2**30
"""Of processor time, and bytes beyond what this process has already, within which a
file is refused. Where other tests have used the process, what they freed is not always
given back in time: `test_a_process_of_its_own…` holds the whole gigabyte."""


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """Every test here ends in time, and without taking much memory."""
    begun = time.process_time()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert time.process_time() - begun < SECONDS
    assert 1024 * grown < MEMORY


# text and trees


def _yaml(text: str) -> Make:
    return lambda folder: put(folder / "a.twin.yaml", f"schema: 1\nname: a\n{text}\n")


LAUGHS = "\n".join(
    ["sources: &a0 [x]"]
    + [f"k{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 21)]
)
MERGES = "\n".join(
    ["k: &a0 {x: 1}"]
    + [f"k{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}]}}" for i in range(1, 31)]
)
TREES: dict[str, tuple[Make, str]] = {
    "aliases of aliases": (_yaml(LAUGHS), "too many bytes of memory"),
    "merges of merges": (_yaml(MERGES), "too many bytes of memory"),
    "an alias of itself": (_yaml("sources: &a [*a]"), "without end"),
    "20 MB of YAML": (
        lambda folder: put(
            folder / "a.twin.yaml", "sources:\n" + "- 1.5\n" * 3_400_000
        ),
        "too many bytes of memory",
    ),
    "lists within lists": (_yaml("sources: " + "[" * 100_000), "without end"),
    "a ladder of dashes": (
        lambda folder: put(folder / "a.twin.yaml", "- " * 100_000 + "1"),
        "without end",
    ),
    "a whole number of letters": (_yaml("seed: !!int abc"), "no value of type 'int'"),
    "no whole number": (_yaml("seed: !!int ''"), "no value of type 'int'"),
    "no binary number": (_yaml("seed: 0b_"), "no value of type 'int'"),
    "no hexadecimal": (_yaml("seed: 0x_"), "no value of type 'int'"),
    "no number": (_yaml("seed: !!float abc"), "no value of type 'float'"),
    "no truth": (_yaml("seed: !!bool x"), "no value of type 'bool'"),
    "no time": (_yaml("seed: !!timestamp x"), "no value of type 'timestamp'"),
    "no month": (_yaml("seed: !!timestamp 2001-13-40"), "no value of type 'timestamp'"),
    "pairs of one": (_yaml("seed: !!omap [{a: 1, b: 2}]"), "it is not YAML"),
    "5000 digits": (_yaml("seed: " + "9" * 5000), "no value of type 'int'"),
    "400 digits": (_yaml("table: " + "9" * 400), "table"),
    "a table at infinity": (_yaml("model: pendulum\ntable: .inf"), "that is finite"),
    "a surrogate": (_yaml('description: "\\ud800"'), "invalid Unicode"),
    "a negative mass": (
        _yaml("model: pendulum\ndatasheet: {joint: {mass: -1}}"),
        "datasheet.joint.mass: it should be a number >= 0",
    ),
}


@pytest.mark.parametrize("name", TREES)
def test_a_tree_is_refused(tmp_path: Path, name: str):
    make, said = TREES[name]
    with pytest.raises(BadFile, match=said):
        load_twin(make(tmp_path))


SIDECARS = {
    "rate: -5": "rate: it should be a number >= 0",
    "rate: .inf": "rate: it should be a number that is finite",
    "noise: {position: -1}": "noise.position: it should be a number >= 0",
    "velocity_filter_hz: -3": "velocity_filter_hz: it should be a number > 0",
    "gains: {a: {kp: -1}}": "gains.a.kp: it should be a number >= 0",
    "mapping: {a: {scale: .inf}}": "mapping.a.scale: it should be a number that",
    "parameters: {a: .inf}": "parameters.a: it should be a number that is finite",
}


@pytest.mark.parametrize("text", SIDECARS)
def test_a_sidecar_holds_no_number_that_cannot_be(tmp_path: Path, text: str):
    with pytest.raises(BadFile) as caught:
        load_sidecar(put(tmp_path / "a.yaml", text + "\n"))
    assert SIDECARS[text] in caught.value.problem


# tables


def _zeros(path: Path, megabytes: int, unit: bytes) -> Path:
    """Gzip of one unit again and again, packed a thousand to one."""
    block = gzip.compress(unit * (2**20 // len(unit)))
    return put(path, gzip.compress(b"time,a\n") + block * megabytes)


def _npz(path: Path, members: dict[str, bytes], **facts: int) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    if facts:  # the same in every header, as hostile archives have it
        data = bytearray(path.read_bytes())
        for mark, shift in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
            place = data.find(mark)
            while place >= 0:
                flags, method = facts.get("flags", 0), facts.get("method", 8)
                struct.pack_into("<HH", data, place + 6 + shift, flags, method)
                place = data.find(mark, place + 4)
        path.write_bytes(bytes(data))
    return path


def _npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


TIME = _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}", bytes(24))


def _column(shape: str, data: bytes = bytes(24)) -> Make:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}"
    members = {"time.npy": TIME, "a.npy": _npy(header, data)}
    return lambda folder: _npz(folder / "a.npz", members)


def _twice(folder: Path) -> Path:
    path = _npz(folder / "a.npz", {"time.npy": TIME, "tame.npy": TIME})
    return put(path, path.read_bytes().replace(b"tame", b"time"))


def _npz_bomb(folder: Path) -> Path:
    path = folder / "a.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("time.npy", "w", force_zip64=True) as file,
    ):
        file.write(_npy("{'descr': '|i1', 'fortran_order': False, 'shape': (9,)}"))
        for _ in range(600):
            file.write(bytes(2**20))
    return path


def _small_numbers(folder: Path) -> Path:
    """One byte each in the file, eight in memory."""
    path, count = folder / "a.npz", 80 * 2**20
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        header = f"{{'descr': '|i1', 'fortran_order': False, 'shape': ({count},)}}"
        archive.writestr("time.npy", _npy(header, bytes(count)))
    return path


def _flip(path: Path, place: int) -> Path:
    data = bytearray(path.read_bytes())
    data[place] ^= 0xFF
    path.write_bytes(bytes(data))
    return path


def _parquet_bomb(folder: Path) -> Path:
    """10⁸ equal numbers, in a few kilobytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, rows = folder / "a.parquet", 10_000_000
    column = pa.array(np.zeros(rows, np.int8))
    table = pa.table({"time": column, "a": column})
    with pq.ParquetWriter(path, table.schema) as writer:
        for _ in range(4):
            writer.write_table(table)
    return path


def _parquet(**columns: object) -> Make:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def make(folder: Path) -> Path:
        pq.write_table(pa.table(columns), folder / "a.parquet")
        return folder / "a.parquet"

    return make


def _mcap(
    facts: dict[str, str] | None = None,
    channel: dict[str, str] | None = None,
    message: bytes = b'{"time": 1}',
) -> Make:
    """A file like ours, but for one thing."""
    good = {"signals": '["time"]', "sidecar": "{}"}

    def make(folder: Path) -> Path:
        from mcap.writer import Writer

        with (folder / "a.mcap").open("wb") as file:
            writer = Writer(file)
            writer.start(library="realworthy")
            writer.add_metadata("realworthy", good if facts is None else facts)
            schema = writer.register_schema("signals", "jsonschema", b"{}")
            signals = {"signals": '["time"]'} if channel is None else channel
            where = writer.register_channel("/time", "json", schema, signals)
            for k in range(3):
                writer.add_message(where, k, message, k, k)
            writer.finish()
        return folder / "a.mcap"

    return make


def _mcap_bomb(folder: Path) -> Path:
    """A chunk that says it is small, and whose packed data say otherwise."""
    import zstandard
    from mcap.writer import CompressionType, Writer

    packed = zstandard.ZstdCompressor().compress(bytes(600 * 2**20))
    path = folder / "a.mcap"
    with path.open("wb") as file:
        writer = Writer(file, compression=CompressionType.ZSTD)
        writer.start(library="realworthy")
        writer.add_metadata("realworthy", {"signals": '["time"]', "sidecar": "{}"})
        chunk = struct.pack("<QQQI", 0, 0, 10, 0) + struct.pack("<I", 4) + b"zstd"
        chunk += struct.pack("<Q", len(packed)) + packed
        file.write(b"\x06" + struct.pack("<Q", len(chunk)) + chunk)
        writer.finish()
    return path


NOTHING = f"{{'descr': '|V0', 'fortran_order': False, 'shape': ({10**18},)}}"
N = 100_000
DEEP = "[" * N
TABLES: dict[str, tuple[Make, str]] = {
    "a heading of 200 kB": (
        lambda folder: put(folder / "a.csv", "x" * 200_000 + "\n1\n"),
        "field larger than field limit",
    ),
    "a cell of 200 kB": (
        lambda folder: put(folder / "a.csv", "time,a\n0," + "x" * 200_000 + "\n"),
        "field larger than field limit",
    ),
    "gzip that is changed": (
        lambda folder: _flip(
            put(folder / "a.csv.gz", gzip.compress(b"time,a\n" + b"0,1\n1,2\n" * 99)),
            20,
        ),
        "not a whole gzip file",
    ),
    "gzip that is cut off": (
        lambda folder: put(folder / "a.csv.gz", gzip.compress(b"time,a\n0,1\n")[:-9]),
        "not a whole gzip file",
    ),
    "gzip without end": (
        lambda folder: _zeros(folder / "a.csv.gz", 600, b"0"),
        "too many bytes",
    ),
    "gzip of cells without end": (
        lambda folder: _zeros(folder / "a.csv.gz", 80, b"0,"),
        "too many bytes",
    ),
    "an archive of 600 MB of zeros": (_npz_bomb, "too many bytes"),
    "an archive of bytes for numbers": (_small_numbers, "too many bytes"),
    "a shape of 10¹⁵": (_column("(1000000000000000,)"), "should have the shape"),
    "a shape that wraps round": (_column(f"({2**33}, {2**33}, 2)"), "should have"),
    "a negative shape": (_column("(-3,)"), "should have the shape"),
    "a shape of words": (_column("('a',)"), "not an archive of plain NumPy"),
    "no numbers, 10¹⁸ of them": (
        lambda folder: _npz(
            folder / "a.npz",
            {"time.npy": _npy(NOTHING)},
        ),
        "too many bytes",
    ),
    "a header that is deep": (
        lambda folder: _npz(folder / "a.npz", {"time.npy": _npy("(" * 9000)}),
        "not an archive of plain NumPy|not enough memory|without end",
    ),
    "a member that is no array": (
        lambda folder: _npz(folder / "a.npz", {"time.npy": TIME, "readme.txt": b"hi"}),
        "'readme.txt' in it is not a NumPy array",
    ),
    "two arrays of one name": (_twice, "two arrays called 'time'"),
    "an encrypted archive": (
        lambda folder: _npz(folder / "a.npz", {"time.npy": TIME}, flags=1),
        "is encrypted",
    ),
    "an unknown method": (
        lambda folder: _npz(folder / "a.npz", {"time.npy": TIME}, method=99),
        "compression method is not supported",
    ),
    "deflate64": (
        lambda folder: _npz(folder / "a.npz", {"time.npy": TIME}, method=9),
        "compression method is not supported",
    ),
    "an archive that is changed": (
        lambda folder: _flip(_npz(folder / "a.npz", {"time.npy": TIME * 9}), 50),
        "not an archive of plain NumPy",
    ),
    "an archive with a deep sidecar": (
        lambda folder: _npz(
            folder / "a.npz",
            {
                "time.npy": TIME,
                "__sidecar__.npy": _npy(
                    f"{{'descr': '<U{N}', 'fortran_order': False, 'shape': ()}}",
                    ('{"notes":{"a":' + DEEP)[:N].encode("utf-32-le"),
                ),
            },
        ),
        "without end",
    ),
    "Parquet of 4·10⁷ equal numbers": (_parquet_bomb, "too many bytes"),
    "Parquet of words": (_parquet(time=["a", "b"]), "holds string"),
    "Parquet of lists": (_parquet(time=[[1.0], [2.0]]), "holds list"),
    "Parquet that is cut off": (
        lambda folder: put(
            folder / "a.parquet", _parquet(time=[0.0, 1.0])(folder).read_bytes()[:-9]
        ),
        "not a Parquet file",
    ),
    "MCAP without order": (_mcap({"sidecar": "{}"}), "there is no 'signals'"),
    "MCAP without sidecar": (_mcap({"signals": "[]"}), "there is no 'sidecar'"),
    "MCAP with an order of numbers": (
        _mcap({"signals": "[1]", "sidecar": "{}"}),
        "not a whole MCAP file",
    ),
    "MCAP with an order that is no list": (
        _mcap({"signals": "{", "sidecar": "{}"}),
        "not a whole MCAP file",
    ),
    "MCAP that lacks a signal": (
        _mcap({"signals": '["no.position"]', "sidecar": "{}"}),
        "there is no 'no.position'",
    ),
    "MCAP with a deep sidecar": (
        _mcap({"signals": "[]", "sidecar": '{"notes":{"a":' + DEEP}),
        "without end",
    ),
    "MCAP with a topic of a number": (
        _mcap(channel={"signals": "7"}),
        "not a whole MCAP file",
    ),
    "MCAP with a topic of numbers": (
        _mcap(channel={"signals": "[7]"}),
        "not a whole MCAP file",
    ),
    "MCAP with a deep topic": (
        _mcap(channel={"signals": DEEP}),
        "not a whole MCAP file",
    ),
    "MCAP with a text for a number": (
        _mcap(message=b'{"time": "a"}'),
        "not a whole MCAP file",
    ),
    "MCAP without the number": (_mcap(message=b'{"x": 1}'), "there is no 'time'"),
    "MCAP with a list": (_mcap(message=b"[1]"), "not a whole MCAP file"),
    "MCAP with NaN": (_mcap(message=b'{"time": NaN}'), "not a whole MCAP file"),
    "MCAP with bytes": (_mcap(message=b'{"\xff": 1}'), "not a whole MCAP file"),
    "MCAP that unpacks to more than it says": (_mcap_bomb, "too many bytes"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_refused(tmp_path: Path, name: str):
    make, said = TABLES[name]
    with pytest.raises(BadFile, match=said):
        load_recording(make(tmp_path))


def test_a_user_can_raise_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = put(tmp_path / "a.csv", "time,a\n" + "".join(f"{k},0\n" for k in range(999)))
    monkeypatch.setenv(BYTES.variable, "20000")
    with pytest.raises(BadFile) as caught:
        load_recording(path)
    assert caught.value.hint.endswith("REALWORTHY_MAX_BYTES=65536")
    monkeypatch.setenv(BYTES.variable, "65536")
    assert len(load_recording(path).time) == 999
    monkeypatch.setenv(BYTES.variable, "much")
    with pytest.raises(RealworthyError, match="not a whole number above zero"):
        load_recording(path)


def test_100_000_columns_are_read_in_time(tmp_path: Path):
    names = ",".join(f"j{i}.position" for i in range(100_000))
    rows = "".join(f"{k / 10}," + ",".join("0" * 100_000) + "\n" for k in range(3))
    path = put(tmp_path / "a.csv", f"time,{names}\n{rows}")
    assert len(load_recording(path).signals) == 100_000


@pytest.mark.parametrize("name", ["a.csv", "a.npz", "a.onnx", "a.xml", "a.twin.yaml"])
def test_pipes_and_devices_are_not_opened(tmp_path: Path, name: str):
    os.mkfifo(tmp_path / name)
    with pytest.raises(BadFile, match="not an ordinary file"):
        read_any(tmp_path / name)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / name).symlink_to("/dev/zero")
    with pytest.raises(BadFile, match="not an ordinary file"):
        read_any(tmp_path / "link" / name)


def read_any(path: Path) -> object:
    if path.suffix == ".onnx":
        return load_policy(path)
    if path.suffix in (".xml", ".yaml", ".urdf"):
        return load_twin(path)
    return load_recording(path)


def test_pipes_among_files_are_passed_over(tmp_path: Path):
    put(tmp_path / "a.csv", "time,a\n0,1\n1,2\n")
    os.mkfifo(tmp_path / "a.json")
    with pytest.raises(BadFile, match="holds no bam_servos recording"):
        load_recordings(tmp_path, "bam_servos")
    check_readable(tmp_path)


# models

BODY = '<body><joint/><geom size=".1" mass="1"/></body>'


def _mjcf(inside: str) -> Make:
    return lambda folder: put(folder / "a.xml", f"<mujoco>{inside}</mujoco>")


def _world(inside: str) -> Make:
    return _mjcf(f"<worldbody>{inside}</worldbody>")


def _asset(inside: str) -> Make:
    return _mjcf(f"<asset>{inside}</asset>")


def _sizes(text: str) -> Make:
    return _mjcf(f"<size {text}/><worldbody>{BODY}</worldbody>")


def _attached(folder: Path) -> Path:
    """Each model holds the next one nine times."""
    for i in range(12):
        times = "".join(
            f'<frame name="f{k}"><attach model="m" prefix="p{k}_"/></frame>'
            for k in range(9)
        )
        put(
            folder / f"{i}.xml",
            f'<mujoco><asset><model name="m" file="{i + 1}.xml"/></asset>'
            f"<worldbody>{times}</worldbody></mujoco>",
        )
    put(folder / "12.xml", f"<mujoco><worldbody>{BODY}</worldbody></mujoco>")
    return folder / "0.xml"


def _included(folder: Path) -> Path:
    put(
        folder / "a.xml",
        '<mujoco><worldbody><replicate count="100000"><include file="b.xml"/>'
        "</replicate></worldbody></mujoco>",
    )
    put(folder / "b.xml", f"<mujoco>{BODY}</mujoco>")
    return folder / "a.xml"


def _entities(folder: Path) -> Path:
    entities = '<!ENTITY a0 "lol">' + "".join(
        f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12)
    )
    return put(
        folder / "a.urdf",
        f'<?xml version="1.0"?><!DOCTYPE r [{entities}]><robot name="&a11;"/>',
    )


def _png(folder: Path) -> Path:
    """An image of 40,000 × 40,000 points."""
    chunk = b"IHDR" + struct.pack(">IIBBBBB", 40_000, 40_000, 8, 2, 0, 0, 0)
    crc = struct.pack(">I", zlib.crc32(chunk))
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + crc
    put(folder / "t.png", head)
    texture = '<asset><texture name="t" type="2d" file="t.png"/></asset>'
    return _mjcf(texture + f"<worldbody>{BODY}</worldbody>")(folder)


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "m.stl")
    mesh = '<asset><mesh name="m" file="m.stl"/></asset>'
    return _mjcf(mesh + f"<worldbody>{BODY}</worldbody>")(folder)


TIMES = '<replicate count="1000">'
MODELS: dict[str, tuple[Make, str]] = {
    "10⁸ bodies": (
        _world(f'<replicate count="100000000">{BODY}</replicate>'),
        "too many",
    ),
    "10³ × 10³ bodies": (
        _world(f"{TIMES}{TIMES}{BODY}</replicate></replicate>"),
        "too many bytes",
    ),
    "a height field of 10¹⁰": (
        _asset('<hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/>'),
        "too many bytes",
    ),
    "a texture of 10¹⁰": (
        _asset('<texture name="t" builtin="flat" width="100000" height="100000"/>'),
        "too many bytes",
    ),
    "10⁹ keyframes": (_sizes('nkey="1000000000"'), "too many bytes"),
    "2·10⁹ numbers for a body": (_sizes('nuser_body="2000000000"'), "too many bytes"),
    "memory of 1 TB": (_sizes('memory="1T"'), "too many bytes"),
    "2·10⁹ contacts": (_sizes('nconmax="2000000000"'), "too many bytes"),
    "10⁹ numbers": (
        _mjcf('<custom><numeric name="n" size="1000000000"/></custom>'),
        "too many",
    ),
    "a flexible cube of 10⁹": (
        _world(
            '<flexcomp name="f" type="grid" count="1000 1000 1000" spacing="1 1 1"/>'
        ),
        "too many bytes",
    ),
    "a cable of 10⁷": (
        _world('<composite type="cable" prefix="c" count="10000000 1 1"/>'),
        "too many bytes",
    ),
    "models within models": (_attached, "too many bytes"),
    "an include that is replicated": (_included, "too many bytes"),
    "a large image in a small file": (_png, "too many bytes"),
    "a mesh from a pipe": (_pipe, "not an ordinary file"),
    "entities of entities": (_entities, "declares an entity"),
    "an entity from elsewhere": (
        lambda folder: put(
            folder / "a.urdf",
            '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>',
        ),
        "declares an entity",
    ),
    "a time step of 10⁻¹²": (
        _mjcf(f'<option timestep="1e-12"/><worldbody>{BODY}</worldbody>'),
        "too many steps",
    ),
    "XML that ends early": (_mjcf("<worldbody>"), "not XML"),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_refused(tmp_path: Path, name: str):
    make, said = MODELS[name]
    with pytest.raises(RealworthyError, match=said):
        _ = load_twin(make(tmp_path)).compiled


# realities and suites


@pytest.mark.parametrize(
    "text",
    [
        "rate: 1.0e-9",
        "rate: 1.0e-320",
        "timestep_factor: 1.0e-9",
        "timestep_factor: 1.0e-320",
        "interface: {jitter: 1.0e+9}",
        "interface: {clock_offset: 1.0e+9}",
    ],
)
def test_a_reality_of_endless_steps_is_refused(tmp_path: Path, text: str):
    path = put(tmp_path / "a.reality.yaml", f"schema: 1\ntwin: pendulum\n{text}\n")
    with pytest.raises(BadFile, match="too many substeps"):
        load_reality(path)


@pytest.mark.parametrize(
    "text",
    [
        "cells: [{name: a, group: stress, episodes: 1000000000}]",
        "batch: 1000000000",
        "search: {evaluations: 1000000, episodes: 1000000}",
        "coverage: {realities: 1000000000}",
        "cells: [{name: a, group: stress, condition: {late_steps: 1000000000000}}]",
        "cells: [{name: a, group: stress, condition: {variant: {timestep: 1.0e-9}}}]",
        "margins: [{name: a, unit: s, episodes: 1000000, steps: "
        "[{value: 1, condition: {loss: 0.1}}]}]",
    ],
)
def test_a_suite_without_end_is_refused(tmp_path: Path, text: str):
    path = put(tmp_path / "a.suite.yaml", f"schema: 1\n{text}\n")
    with pytest.raises(BadFile, match=r"too many .*the limit is 100,000"):
        load_suite(path)


ALONE = """
import re, sys
from pathlib import Path
from realworthy.errors import BadFile
from realworthy.recordings import load_recording
try:
    load_recording(Path(sys.argv[1]))
except BadFile as error:
    status = Path("/proc/self/status").read_text()
    held = re.search(r"VmHWM:\\s*(\\d+) kB", status)
    print(1024 * int(held[1]), error.problem)
"""
"""Says the most memory [bytes] it held; `ru_maxrss` would count its parent's too."""


def test_a_process_of_its_own_refuses_an_endless_file_within_a_gigabyte(tmp_path: Path):
    path = _zeros(tmp_path / "a.csv.gz", 600, b"0")
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    taken, _, problem = done.stdout.partition(" ")
    assert int(taken) < 2**30
    assert "too many bytes" in problem
