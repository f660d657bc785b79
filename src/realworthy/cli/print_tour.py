"""The end of a tour in the terminal: who did how well, and what was true."""

from typing import TYPE_CHECKING

from realworthy.cli.printing import emit_note, emit_table, number

if TYPE_CHECKING:
    from realworthy.tours import Tour


def print_tour(tour: "Tour") -> None:
    count = tour.fared[0].real.count if tour.fared else 0
    emit_table(
        f"Success on the robot, {count} episodes each, faster than real time",
        (
            "trained on",
            "simulated",
            "real",
            "95 %",
            "gap",
            "certificate",
            "over the network",
        ),
        [
            (
                str(each.way),
                f"{100 * each.simulated:.0f} %",
                f"{100 * each.real.mean:.0f} %",
                f"{100 * each.real.lower:.0f} … {100 * each.real.upper:.0f} %",
                f"{100 * each.gap:+.0f} points",
                str(each.certificate.verdict),
                "" if each.trials is None else each.trials.summary,
            )
            for each in tour.fared
        ],
    )
    emit_table(
        "Hidden parameters",
        ("", "published", "calibrated", "±", "truth", "unit"),
        [
            (
                one.name,
                one.nominal,
                number(one.mean, one.sd),
                one.sd,
                number(one.truth, one.sd),
                one.unit,
            )
            for one in tour.estimates
        ],
    )
    if tour.note:
        emit_note(tour.note, style="yellow")
    took = max(tour.seconds.values(), default=0.0)
    emit_note(f"{tour.verdict.sentence} {took:.0f} s in all.")
