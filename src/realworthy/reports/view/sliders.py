"""Sliders for the numbers of e."""

from collections.abc import Callable
from itertools import count

import viser

from realworthy.reports.elements.numbers import to_digits
from realworthy.reports.view.session import Session
from realworthy.reports.view.slider_ranges import SliderRange
from realworthy.twins.space import ALL


class Sliders:
    """One for each number that is shown, by element; one for all that are not."""

    def __init__(self, gui: viser.GuiApi, session: Session) -> None:
        self._gui, self._session = gui, session
        self._sliders: dict[str, viser.GuiSliderHandle[float]] = {}
        self._seeds = count(1)
        self._is_wide = False
        self._show_chosen: Callable[[], None] = lambda: None
        self._add()

    def _add(self) -> None:
        gui, knobs = self._gui, self._session.knobs
        with gui.add_folder("Physics"):
            reset = gui.add_button_group("Numbers", ("Nominal", "Draw"))
            beyond = gui.add_checkbox(
                "Beyond belief",
                initial_value=False,
                hint="Sliders end where the belief does, unless this is on.",
            )
            elements = dict.fromkeys(knob.parameter.element for knob in knobs.shown)
            for element in elements:
                title = "whole robot" if element == ALL else element
                with gui.add_folder(title):
                    for knob in knobs.shown:
                        if knob.parameter.element == element:
                            self._add_slider(knob)
            if knobs.hidden:
                self._add_chooser()

        @reset.on_click
        def _(_: object) -> None:
            wish = self._draw if reset.value == "Draw" else self._reset
            self._session.ask(wish)

        @beyond.on_update
        def _(_: object) -> None:
            self._session.ask(lambda: self._widen(beyond.value))

    def _add_slider(self, knob: SliderRange) -> None:
        slider = self._gui.add_slider(
            knob.label,
            min=knob.lower,
            max=knob.upper,
            step=knob.step,
            initial_value=knob.nominal,
            marks=(knob.nominal,),
            hint=_hint(knob),
        )
        self._sliders[knob.name] = slider

        @slider.on_update
        def _(event: viser.GuiEvent) -> None:
            if event.client is not None:  # not ourselves
                self._ask_value(knob.name, float(slider.value))

    def _add_chooser(self) -> None:
        """One slider for whichever of many numbers is chosen."""
        gui, session = self._gui, self._session
        names = tuple(knob.name for knob in session.knobs.hidden)
        with gui.add_folder("one number"):
            chosen = gui.add_dropdown("Which", options=names)
            first = session.knobs[names[0]]
            slider = gui.add_slider(
                "Value",
                min=first.lower,
                max=first.upper,
                step=first.step,
                initial_value=first.nominal,
                hint=_hint(first),
            )

        def show() -> None:
            knob = self._find(chosen.value)
            _set_range(slider, knob, session.values.get(knob.name, knob.nominal))

        self._show_chosen = show

        @chosen.on_update
        def _(_: object) -> None:
            session.ask(show)

        @slider.on_update
        def _(event: viser.GuiEvent) -> None:
            if event.client is not None:
                self._ask_value(chosen.value, float(slider.value))

    def _ask_value(self, name: str, value: float) -> None:
        self._session.ask(lambda: self._session.set_value(name, value))

    def _reset(self) -> None:
        self._session.set_values({})
        self._show_values()

    def _draw(self) -> None:
        self._session.draw(next(self._seeds))
        self._show_values()

    def _find(self, name: str) -> SliderRange:
        knob = self._session.knobs[name]
        return knob.widened() if self._is_wide else knob

    def _show_values(self) -> None:
        """Puts sliders where e is; beyond their ends they stay at the end."""
        for name, slider in self._sliders.items():
            knob = self._find(name)
            _set_range(slider, knob, self._session.values.get(name, knob.nominal))
        self._show_chosen()

    def _widen(self, is_wide: bool) -> None:
        """Longer or shorter sliders; what lies beyond a shorter one comes back."""
        self._is_wide = is_wide
        for name, value in list(self._session.values.items()):
            knob = self._find(name)
            self._session.set_value(name, min(max(value, knob.lower), knob.upper))
        self._show_values()


def _hint(knob: SliderRange) -> str:
    unit = "" if knob.parameter.unit == "1" else f" {knob.parameter.unit}"
    ends = f"{to_digits(knob.lower)} … {to_digits(knob.upper)}"
    return f"{knob.name}: nominal {to_digits(knob.nominal)}{unit}, slider {ends}"


def _set_range(
    slider: viser.GuiSliderHandle[float], knob: SliderRange, value: float
) -> None:
    slider.min, slider.max = knob.lower, knob.upper
    slider.step = knob.step
    slider.hint = _hint(knob)
    slider.value = min(max(value, knob.lower), knob.upper)
