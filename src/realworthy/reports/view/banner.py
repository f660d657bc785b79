"""What the page says above its buttons."""

import html

from realworthy.reports.view.session import Session

_COLOURS = {True: "#1a7f4b", False: "#c5362c", None: "#5f6b7a"}
_HELD = 0.95
"""Share of the speed asked for from which on it counts as held."""


def describe(session: Session, rate: float) -> str:
    """The banner: what is seen, how the last episode ended, how many did well."""
    play, verdict = session.play, session.verdict
    lines = [f"<b>{html.escape(play.about)}</b>"]
    state = "" if session.is_playing else " · paused"
    lines.append(f"{play.time:.1f} s{state}")
    if rate < _HELD and session.is_playing:
        lines.append(
            f'<span style="color:{_COLOURS[False]}">Slower than asked: '
            f"{rate:.0%} of the speed; the machine is too busy.</span>"
        )
    if play.note:
        lines.append(html.escape(play.note))
    ended = session.good_count + session.bad_count
    if verdict is not None:
        colour = _COLOURS[verdict.is_good]
        lines.append(
            f'<span style="color:{colour};font-weight:600">'
            f"{html.escape(verdict.text[0].upper() + verdict.text[1:])}</span>"
        )
    if ended:
        lines.append(f"{session.good_count} of {ended} episodes succeeded")
    moved = len(session.values)
    if moved:
        lines.append(f"{moved} number{'s' * (moved > 1)} of e off nominal")
    body = "<br>".join(lines)
    return f'<div style="padding:0.4em 0.8em;line-height:1.5">{body}</div>'
