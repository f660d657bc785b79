"""Residuals as files: read back as written, refused where they do not fit."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from realworthy.errors import BadFile, MissingFile, Unwritable
from realworthy.residuals import (
    Residual,
    ResidualEvidence,
    build_law,
    load_residual,
    save_residual,
)

from .examples import damper


def test_a_saved_residual_gives_the_same_force(tmp_path: Path):
    path = tmp_path / "arm.residual.yaml"
    evidence = ResidualEvidence(
        horizon=0.5, start_count=12, without=0.02, with_residual=0.01
    )
    description = msgspec.structs.replace(damper().description, evidence=evidence)
    save_residual(path, Residual(description=description, ensemble=damper().ensemble))
    read = load_residual(path)
    assert read.description.evidence == evidence
    signals = np.random.default_rng(0).normal(size=(20, 1, 2))
    laws = build_law(damper(), timestep=0.01), build_law(read, timestep=0.01)
    one, other = (law.step(signals, law.start(signals)).force for law in laws)
    assert np.array_equal(one, other)


def test_arrays_are_plain(tmp_path: Path):
    save_residual(tmp_path / "arm.residual.yaml", damper())
    with np.load(tmp_path / "arm.residual.npz", allow_pickle=False) as file:
        assert all(array.dtype == np.float64 for array in dict(file).values())


def test_nothing_is_overwritten_silently(tmp_path: Path):
    path = tmp_path / "arm.residual.yaml"
    save_residual(path, damper())
    with pytest.raises(Unwritable, match=r"exists already"):
        save_residual(path, damper())
    save_residual(path, damper(disagree=0.1), overwrite=True)
    assert load_residual(path).ensemble.heads[0, 2, 0] == pytest.approx(-0.6)


def test_files_that_do_not_fit_are_refused(tmp_path: Path):
    path = tmp_path / "arm.residual.yaml"
    save_residual(path, damper(history=2))
    text = path.read_text()
    path.write_text(text.replace("history: 2", "history: 3"))
    with pytest.raises(BadFile, match=r"has 4 inputs and 1 outputs.* has 6 and 1"):
        load_residual(path)
    path.write_text(text.replace("stiffness: []", "stiffness: [1.0, 2.0]"))
    with pytest.raises(BadFile, match=r"1 joints and 2 numbers of stiffness"):
        load_residual(path)
    path.write_text(text + "smoothness: 1\n")
    with pytest.raises(BadFile, match=r"no key 'smoothness'"):
        load_residual(path)
    path.write_text(text)
    arrays = dict(np.load(tmp_path / "arm.residual.npz"))
    np.savez(
        tmp_path / "arm.residual.npz", **(arrays | {"heads": arrays["heads"] * np.nan})
    )
    with pytest.raises(BadFile, match=r"not finite"):
        load_residual(path)
    del arrays["heads"]
    np.savez(tmp_path / "arm.residual.npz", **arrays)
    with pytest.raises(BadFile, match=r"no array 'heads'"):
        load_residual(path)
    (tmp_path / "arm.residual.npz").unlink()
    with pytest.raises(MissingFile):
        load_residual(path)
