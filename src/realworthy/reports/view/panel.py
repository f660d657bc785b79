"""What can be pressed and dragged."""

import html
from collections.abc import Callable

import viser

from realworthy.policies.contract import InputRange
from realworthy.reports.view.session import Session
from realworthy.reports.view.sliders import Sliders
from realworthy.reports.view.stage import RobotScene

SPEEDS = ("0.1×", "0.25×", "0.5×", "1×", "2×", "4×")
_STEPS = 200
"""Places of a slider."""
_PUSHES = (0.0, 3.0)
"""[m/s or rad/s] that a push may be."""


class Panel:
    """Buttons and sliders of one session, the same for all who look."""

    def __init__(
        self,
        server: viser.ViserServer,
        session: Session,
        stage: RobotScene,
        on_choose: Callable[[], None],
    ) -> None:
        """`on_choose` is called when another play was chosen."""
        self._gui, self._session, self._stage = server.gui, session, stage
        self._on_choose = on_choose
        self._inputs: list[viser.GuiSliderHandle[float] | viser.GuiButtonHandle] = []
        self._banner = self._gui.add_html("")
        self._add_playing()
        Sliders(self._gui, session)
        self._add_pushes()
        self._told = self._gui.add_folder("Commands", visible=False)
        self._list_inputs()

    def say(self, rate: float) -> None:
        """Renews the banner; `rate` is simulated over wished-for time."""
        content = describe(self._session, rate)
        if self._banner.content != content:
            self._banner.content = content

    def _add_playing(self) -> None:
        gui, session = self._gui, self._session
        if len(session.plays) > 1:
            names = tuple(play.name for play in session.plays)
            chosen = gui.add_dropdown("Watch", options=names)

            @chosen.on_update
            def _(_: object) -> None:
                session.ask(lambda: self._choose(chosen.value))

        buttons = gui.add_button_group("Time", ("Play", "Pause", "Restart"))

        @buttons.on_click
        def _(_: object) -> None:
            session.ask(lambda: self._press(buttons.value))

        speed = gui.add_dropdown("Speed", options=SPEEDS, initial_value="1×")

        @speed.on_update
        def _(_: object) -> None:
            value = float(speed.value.removesuffix("×"))
            session.ask(lambda: setattr(session, "speed", value))

        if any(play.world.base is not None for play in session.plays):
            follow = gui.add_checkbox("Follow", initial_value=True)

            @follow.on_update
            def _(_: object) -> None:
                self._stage.follows = follow.value

        if any(play.has_ghost for play in session.plays):
            ghost = gui.add_checkbox(
                "Ghost", initial_value=True, hint="The robot as it was measured."
            )

            @ghost.on_update
            def _(_: object) -> None:
                self._stage.shows_ghost = ghost.value

    def _press(self, button: str) -> None:
        if button == "Restart":
            self._session.restart()
        self._session.is_playing = button != "Pause"

    def _choose(self, name: str) -> None:
        self._session.choose(name)
        self._on_choose()
        self._list_inputs()

    def _list_inputs(self) -> None:
        """Sliders for what the play can be told, and a way back."""
        for handle in self._inputs:
            handle.remove()
        self._inputs = []
        inputs = self._session.play.inputs
        self._told.visible = bool(inputs)
        with self._told:
            for name, each in inputs.items():
                self._inputs.append(self._add_input(name, each))
            back = self._gui.add_button(
                "Let go", hint="Commands as the task draws them, or of the home pose."
            )
            back.on_click(lambda _: self._session.ask(self._let_go))
            self._inputs.append(back)

    def _add_input(self, name: str, each: InputRange) -> viser.GuiSliderHandle[float]:
        slider = self._gui.add_slider(
            name.removesuffix(".command"),
            min=each.lower,
            max=each.upper,
            step=(each.upper - each.lower) / _STEPS or 1.0,
            initial_value=each.default,
            hint=f"{name} [{each.unit}]",
        )

        @slider.on_update
        def _(event: viser.GuiEvent) -> None:
            value = float(slider.value)
            if event.client is not None:  # not ourselves
                self._session.ask(lambda: self._session.tell(name, value))

        return slider

    def _let_go(self) -> None:
        self._session.let_go()
        self._list_inputs()

    def _add_pushes(self) -> None:
        gui, session = self._gui, self._session
        low, high = _PUSHES
        with gui.add_folder("Pushes"):
            strength = gui.add_slider(
                "Strength",
                min=low,
                max=high,
                step=0.05,
                initial_value=1.0,
                hint="Change of speed: of a floating base [m/s], else of each joint "
                "[rad/s or m/s].",
            )
            button = gui.add_button("Push")

        @button.on_click
        def _(_: object) -> None:
            session.ask(lambda: session.push(float(strength.value)))


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
