"""`realworthy certify`: a roadworthiness test for a policy, whoever trained it."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from realworthy.cli.arguments import Flag, JsonFile, ReportFile, Role, TwinName
from realworthy.cli.numbers import AnyCount, AnyNumber, AnySeed

if TYPE_CHECKING:
    from realworthy.certification.certificate.certificate import Certificate
    from realworthy.certification.certify import CertifySettings
    from realworthy.certification.rollouts.realities import RealTrial
    from realworthy.certification.suite.suite import Suite
    from realworthy.realities import Reality

_File = tyro.conf.arg(metavar="FILE", help_behavior_hint="")
_Folder = tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")


@dataclass(frozen=True, slots=True)
class Certify:
    """Test a policy: contract, other simulators, stress, worst case; a verdict."""

    policy: Annotated[
        Path,
        Role.READ,
        tyro.conf.Positional,
        tyro.conf.arg(metavar="POLICY", help_behavior_hint=""),
    ]
    """A policy.onnx or .planner.yaml; one from elsewhere needs a contract beside it."""
    twin: TwinName = ""
    """The robot's twin, calibrated at best; by default the one it was trained on."""
    task: Annotated[str, tyro.conf.arg(metavar="TASK", help_behavior_hint="")] = ""
    """What it must do, by name or my_file.py:MyTask; by default the task it learned."""
    suite: Annotated[
        str, Role.READ, tyro.conf.arg(metavar="SUITE", help_behavior_hint="")
    ] = "default"
    """default, quick, or a *.suite.yaml of your own."""
    bar: AnyNumber = None
    """Success rate that must be exceeded; by default the suite's, 0.8."""
    engines: Annotated[
        tuple[str, ...] | None,
        tyro.conf.arg(metavar="ENGINE…", help_behavior_hint=""),
    ] = None
    """Other engines that must take part: drake, sapien, warp; else those installed."""
    against: Annotated[Path | None, Role.READ, _File] = None
    """The last accepted policy: a policy that is worse fails."""
    realities: Annotated[
        tuple[str, ...],
        Role.READ,
        tyro.conf.arg(metavar="REALITY…", help_behavior_hint=""),
    ] = ()
    """Stand-ins for robots to try it on afterwards, covered by the certificate or not.
    """
    output: Annotated[Path | None, Role.WRITTEN, _Folder] = None
    """Keep certificate, replays and finished parts here; a stopped run resumes."""
    junit: Annotated[Path | None, Role.WRITTEN, _File] = None
    """Also write JUnit XML, for a CI server."""
    workers: AnyCount = None
    """Processes that examine parts side by side; by default one with all cores, or one
    for each core (8 at most) where a task is costly."""
    ray: Flag = False
    """Send the parts to a Ray cluster instead."""
    seed: AnySeed = None
    """Seed of all random numbers; by default the suite's, 0."""
    json: JsonFile = None
    """Also write the certificate, for programs."""
    report: ReportFile = None
    """Also write it as a page, for people."""
    draft: Flag = False
    """Only write a contract to fill in beside a policy from elsewhere."""
    overwrite: Flag = False
    """Replace files of the same names, and start again in --output."""

    def run(self) -> int:
        from realworthy.artefacts import check_free, check_readable
        from realworthy.cli.output import check_report, json_file
        from realworthy.cli.progress import following

        check_readable(self.policy)
        if self.draft:
            return self._write_draft()
        check_report(self._report, self.json, overwrite=self.overwrite)
        if self._junit is not None:
            check_free(self._junit, overwrite=self.overwrite)
        settings = self._settings()
        realities = self._load_realities()
        with json_file(self.json, overwrite=self.overwrite) as save:
            from realworthy.certification.certify import certify

            with following("Certifying") as show:
                found = certify(
                    self.policy,
                    twin=self.twin,
                    task=self.task,
                    output=self.output,
                    settings=settings,
                    progress=show,
                    overwrite=self.overwrite,
                )
            trials = self._try_realities(found, realities)
            save(to_tree(found, trials))
        self._write(found)
        from realworthy.cli.print_certificate import print_certificate

        with suppress(BrokenPipeError):  # the status counts all the same
            print_certificate(found, trials)
        return 0 if found.verdict == "pass" else 1

    @property
    def _junit(self) -> Path | None:
        return self._leave_ours(self.junit, "junit.xml")

    @property
    def _report(self) -> Path | None:
        return self._leave_ours(self.report, "report.html")

    def _leave_ours(self, path: Path | None, name: str) -> Path | None:
        """None where `--output` writes the same file anyway."""
        if path is None or self.output is None:
            return path
        return None if path.resolve() == (self.output / name).resolve() else path

    def _settings(self) -> "CertifySettings":
        from realworthy.certification.certify import CertifySettings
        from realworthy.errors import RealworthyError

        if self.workers is not None and self.workers < 1:
            raise RealworthyError(f"--workers {self.workers} examines nothing.")
        if self.bar is not None and not 0 < self.bar < 1:
            raise RealworthyError(
                f"--bar {self.bar:g} is no share between 0 and 1.",
                hint="Such as 0.8, for 80 %. No number of episodes proves that none "
                "will ever fail.",
            )
        return CertifySettings(
            suite=self._find_suite(),
            bar=self.bar,
            seed=self.seed,
            engines=self.engines,
            against=self.against,
            workers=self.workers or 0,
            ray=self.ray,
        )

    def _find_suite(self) -> "Suite | None":
        from realworthy.certification.suite.suite import SUITES, load_suite
        from realworthy.errors import UnknownName

        if self.suite == "default":  # by the cost of the task
            return None
        if self.suite in SUITES:
            return SUITES[self.suite]()
        if self.suite.endswith((".yaml", ".yml")):
            return load_suite(self.suite)
        hint = "Or a *.suite.yaml of your own."
        raise UnknownName("suite", self.suite, SUITES, owner="Realworthy", hint=hint)

    def _write_draft(self) -> int:
        from realworthy.certification.foreign.draft import assist
        from realworthy.certification.subject import expect_contract
        from realworthy.cli.print_certificate import print_draft

        found = assist(self.policy, expect_contract(self.task, self.twin))
        print_draft(found, found.write())
        return 0

    def _load_realities(self) -> "tuple[Reality, ...]":
        """Before the work begins, so that a misspelt name is said at once."""
        from realworthy.realities import load_reality

        return tuple(load_reality(name) for name in self.realities)

    def _try_realities(
        self, found: "Certificate", realities: "tuple[Reality, ...]"
    ) -> "tuple[RealTrial, ...]":
        if not realities:
            return ()
        from realworthy.certification.rollouts.realities import try_realities
        from realworthy.cli.progress import track

        tried = track(realities, "Trying realities")
        return tuple(
            try_realities(
                found, tried, policy=self.policy, task=self.task, twin=self.twin
            )
        )

    def _write(self, found: "Certificate") -> None:
        from realworthy.artefacts import writing

        if self._junit is not None:
            from realworthy.certification.certificate.junit import to_junit

            with writing(self._junit, overwrite=self.overwrite) as temporary:
                temporary.write_text(to_junit(found), encoding="utf-8")
        if self._report is not None:
            self._write_page(found, self._report, overwrite=self.overwrite)
        if self.output is not None:
            from realworthy.certification.examination.folder import open_manifest

            page = self.output / "report.html"
            with open_manifest(self.output).claimed(page):
                self._write_page(found, page, overwrite=True)

    def _write_page(self, found: "Certificate", path: Path, *, overwrite: bool) -> None:
        from realworthy.reports.certificate.page import write_certificate

        write_certificate(
            found, path, folder=self.output, twin=self.twin, overwrite=overwrite
        )


def to_tree(found: "Certificate", trials: "tuple[RealTrial, ...]") -> dict[str, object]:
    """What programs may rely on: `verdict`, `success`, `failures`, `validity`."""
    import msgspec

    tree = msgspec.to_builtins(found)
    return tree | {"realities": msgspec.to_builtins(trials)} if trials else tree
