"""`realworthy view`: a twin on a local web page, with its unknowns as sliders."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from realworthy.cli.arguments import (
    BaseName,
    ImporterName,
    MoreRecordings,
    Role,
    TwinToUse,
)
from realworthy.cli.numbers import AnyCount, AnySeconds


@dataclass(frozen=True, slots=True)
class View:
    """Watch a twin in 3-D, drag its physics, and see what a policy makes of it.

    It moves while a browser looks. Ctrl-C ends it.
    """

    twin: TwinToUse
    """A built-in twin, an .xml, .urdf or .twin.yaml file, or menagerie:<robot>."""
    policy: Annotated[
        Path | None,
        Role.READ,
        tyro.conf.arg(metavar="POLICY", help_behavior_hint=""),
    ] = None
    """A policy.onnx to run; its task judges it where the twin can do that task."""
    recording: MoreRecordings = ()
    """Recordings to replay beside what was measured."""
    base: BaseName = ""
    """What of the robot floats, where the twin does not know: free lets go a robot
    that its model fixes to the world, such as a URDF's."""
    importer: ImporterName = None
    """Layout of foreign recordings; realworthy show importers lists them."""
    task: Annotated[
        str | None, tyro.conf.arg(metavar="TASK", help_behavior_hint="")
    ] = None
    """A task to try, by name or my_file.py:MyTask; without a policy its reference
    controller acts."""
    host: str = "127.0.0.1"
    """Address to serve on; by default this machine alone can watch and drag."""
    port: AnyCount = None
    """0 takes a free one; by default 8080, or the next free one."""
    seconds: AnySeconds = None
    """How long to serve; until Ctrl-C by default."""

    def run(self) -> int:
        from realworthy.recordings import load_recordings
        from realworthy.reports.view import view
        from realworthy.twins import load_twin

        found = ()
        if self.recording:
            found = load_recordings(list(self.recording), self.importer)
        view(
            load_twin(self.twin, base=self.base),
            policy=self.policy,
            recordings=found,
            task=self.task,
            host=self.host,
            port=self.port,
            seconds=self.seconds,
        )
        return 0
