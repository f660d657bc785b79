"""The page of `certify`: whether a policy passed, within which limits, what breaks it.

Unlike other pages it begins with the verdict and its reasons; warnings follow.
"""

from pathlib import Path

from realworthy.certification.certificate.certificate import Certificate
from realworthy.certification.certificate.statistics import CertificateVerdict
from realworthy.reports.certificate.view import CertificateView
from realworthy.reports.certificate.wording import say_reasons, say_verdict
from realworthy.reports.elements.page import Page, Tone, build_page, write_page

_TONES: dict[CertificateVerdict, Tone] = {
    CertificateVerdict.PASS: "good",
    CertificateVerdict.FAIL: "bad",
    CertificateVerdict.INSUFFICIENT: "open",
}

_TEMPLATE = "certificate.html"


def write_certificate(
    certificate: Certificate,
    path: Path | str,
    *,
    folder: Path | None = None,
    twin: str = "",
    overwrite: bool = False,
) -> None:
    """Writes the page of a certificate, whole or not at all.

    `folder` is where its replays are: the first is drawn, and all are linked. `twin`,
    as `load_twin` takes it, lends its shapes to the drawing; without it the task's own
    does where it has the certificate's name.
    """
    view = CertificateView(certificate, folder, Path(path).parent, twin)
    write_page(_TEMPLATE, _head(certificate), view, path, overwrite=overwrite)


def build_certificate_page(
    certificate: Certificate, *, folder: Path | None = None, twin: str = ""
) -> str:
    """The page as text: one HTML file that loads nothing from elsewhere.

    Its links lead from `folder`, so that is where it belongs.
    """
    view = CertificateView(certificate, folder, twin=twin)
    return build_page(_TEMPLATE, _head(certificate), view)


def _head(certificate: Certificate) -> Page:
    return Page(
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
