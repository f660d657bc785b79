"""Foreign layouts, read into recordings. `IMPORTERS` is the whole list."""

from realworthy.recordings.importers import (
    bam_servos,
    crazypad,
    dfki_double_pendulum,
    dfki_simple_pendulum,
    lerobot,
    rosbag,
    so101_sage,
)
from realworthy.recordings.importers.importer import Imported, Importer

IMPORTERS: dict[str, Importer] = {
    "so101_sage": so101_sage.IMPORTER,
    "bam_servos": bam_servos.IMPORTER,
    "dfki_simple_pendulum": dfki_simple_pendulum.IMPORTER,
    "dfki_double_pendulum": dfki_double_pendulum.IMPORTER,
    "crazypad": crazypad.IMPORTER,
    "rosbag": rosbag.IMPORTER,
    "lerobot": lerobot.IMPORTER,
}

__all__ = ["IMPORTERS", "Imported", "Importer"]
