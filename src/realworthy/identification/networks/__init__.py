"""Networks: what is learned as a function, where physical numbers do not suffice.

Here live drives learned from torque-labelled runs (`fit_network`, which needs torch;
what comes out runs without), the physical model that they are held against
(`fit_physical`, `compare_drives`), and forces that a twin lacks (`fit_residual`, numpy
alone). All of them are judged running freely on recordings that they have not seen, and
leave with the envelope of what they have.

Here does not live running them: `actuators.network`, `residuals` and, in worlds,
`simulators.residual_force` do. May import what
`identification` may, and torch inside `train.py` alone. *Experimental.*
"""

from realworthy.identification.networks.compare import (
    DriveComparison,
    Score,
    compare_drives,
    network_candidate,
    physical_candidate,
)
from realworthy.identification.networks.drive import LearnedDrive, load_drive
from realworthy.identification.networks.physical import PhysicalSettings, fit_physical
from realworthy.identification.networks.residual import (
    ResidualAddition,
    ResidualComparison,
    ResidualSettings,
    add_residual,
    check_enough,
    compare_residual,
    fit_residual,
    residual_dynamics,
    residual_torque,
)
from realworthy.identification.networks.ridge import RidgeSettings
from realworthy.identification.networks.runs import (
    DriveRun,
    cut,
    follow,
    label_torque,
    read_runs,
    run_freely,
)
from realworthy.identification.networks.train import NetworkSettings, fit_network

__all__ = [
    "DriveComparison",
    "DriveRun",
    "LearnedDrive",
    "NetworkSettings",
    "PhysicalSettings",
    "ResidualAddition",
    "ResidualComparison",
    "ResidualSettings",
    "RidgeSettings",
    "Score",
    "add_residual",
    "check_enough",
    "compare_drives",
    "compare_residual",
    "cut",
    "fit_network",
    "fit_physical",
    "fit_residual",
    "follow",
    "label_torque",
    "load_drive",
    "network_candidate",
    "physical_candidate",
    "read_runs",
    "residual_dynamics",
    "residual_torque",
    "run_freely",
]
