"""`convert` of motions: each file into one of ours."""

from collections.abc import Sequence
from pathlib import Path

from realworthy.artefacts import check_free, make_folder
from realworthy.cli.show_motions import list_joints
from realworthy.errors import RealworthyError
from realworthy.recordings.motion import load_motion, save_motion
from realworthy.recordings.motion_layouts import MOTION_LAYOUTS, find_layout


def are_motions(paths: Sequence[Path], importer: str | None) -> bool:
    """Whether files are motions of foreign layouts."""
    if importer is not None:
        return importer in MOTION_LAYOUTS
    return bool(paths) and all(map(find_layout, paths))


def convert_motions(
    sources: Sequence[Path],
    importer: str | None,
    *,
    output: Path,
    unit: str | None,
    rate: float | None,
    twin: str,
    overwrite: bool,
) -> list[dict[str, object]]:
    """Writes a .csv for each, with base, joints, bodies and so on; what was done."""
    joints = list_joints(twin)
    names = [path.name.partition(".")[0] for path in sources]
    paths = [output / f"{name}.csv" for name in names]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise RealworthyError(f"Two motions would be called '{twice[0]}.csv'.")
    for path in paths:
        check_free(path, overwrite=overwrite)
    motions = [
        load_motion(source, importer, unit=unit, rate=rate, joints=joints)
        for source in sources
    ]
    make_folder(output)
    for motion, path in zip(motions, paths, strict=True):
        save_motion(motion, path, overwrite=overwrite)
    pairs = zip(paths, motions, strict=True)
    return [{"path": str(path), "rows": len(motion.time)} for path, motion in pairs]
