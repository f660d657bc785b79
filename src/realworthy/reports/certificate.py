"""The page of `certify`: whether a policy passed, within which limits, what breaks it.

Unlike other pages it begins with the verdict and its reasons; warnings follow.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from realworthy.certification.certificate import Certificate
from realworthy.certification.statistics import Verdict
from realworthy.reports.certificate_view import CertificateView
from realworthy.reports.certificate_words import say_reasons, say_verdict
from realworthy.reports.page import Page, Tone, write_page

_TONES: dict[Verdict, Tone] = {
    Verdict.PASS: "good",
    Verdict.FAIL: "bad",
    Verdict.INSUFFICIENT: "open",
}


def write_certificate(
    certificate: Certificate,
    path: Path | str,
    *,
    folder: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Writes the page of a certificate, whole or not at all.

    `folder` is where its replays are: the first is drawn, and all are linked.
    """
    view = CertificateView(certificate, folder, Path(path).parent)
    _write(view, path, overwrite=overwrite)


def build_certificate_page(
    certificate: Certificate, *, folder: Path | None = None
) -> str:
    """The page as text: one HTML file that loads nothing from elsewhere.

    Its links lead from `folder`, so that is where it belongs.
    """
    with TemporaryDirectory() as place:
        path = Path(place) / "certificate.html"
        _write(CertificateView(certificate, folder), path, overwrite=False)
        return path.read_text("utf-8")


def _write(view: CertificateView, path: Path | str, *, overwrite: bool) -> None:
    certificate = view.certificate
    page = Page(
        command="certify",
        title=certificate.task,
        subtitle=f"{Path(certificate.policy).name} on twin {certificate.twin}, suite "
        f"{certificate.suite}, {certificate.created[:10]}",
        warnings=(),
        tone=_TONES[certificate.verdict],
        verdict=say_verdict(certificate),
        summary=say_reasons(certificate),
        tiles=(),
    )
    write_page("certificate.html", page, view, path, overwrite=overwrite)
