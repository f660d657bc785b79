"""The page about Python and the README say what `realworthy` has."""

import inspect
import re
from pathlib import Path

import pytest

import realworthy

PROJECT = Path(__file__).parents[1]
PAGE = (PROJECT / "docs" / "python.md").read_text("utf-8")
README = (PROJECT / "README.md").read_text("utf-8")
FUNCTIONS = [name for name in realworthy.__all__ if re.match("[a-z]", name)]
LOOP = ("measure", "diagnose", "excite", "record", "calibrate")
LOOP += ("train", "certify", "deploy")
VERBS = (*LOOP, "adapt", "identify", "convert", "view", "tour")


def write_signature(name: str) -> str:
    """`name(arguments) -> result` as the page has it."""
    signature = inspect.signature(getattr(realworthy, name))
    parts: list[str] = []
    for argument in signature.parameters.values():
        is_named = argument.kind is argument.KEYWORD_ONLY
        if is_named and "*" not in parts:
            parts.append("*")
        stars = "**" if argument.kind is argument.VAR_KEYWORD else ""
        parts.append(stars + argument.name + write_default(argument.default))
        if argument.kind is argument.POSITIONAL_ONLY:
            parts.append("/")
    result = signature.return_annotation
    return f"{name}({', '.join(parts)}) -> {getattr(result, '__name__', result)}"


def write_default(value: object) -> str:
    if value is inspect.Parameter.empty:
        return ""
    if inspect.isfunction(value):
        return f"={value.__name__}"
    return f"={str(value)!r}" if isinstance(value, str) else f"={value!r}"


@pytest.mark.parametrize("name", realworthy.__all__)
def test_every_name_is_there(name: str):
    assert getattr(realworthy, name) is not None


def test_what_is_there_is_what_checkers_see():
    """Names under TYPE_CHECKING are those that load when they are used."""
    source = inspect.getsource(realworthy)
    typed = set(re.findall(r"import \(?\s*\w+ as (\w+)", source))
    assert typed == set(realworthy.__all__) - {"__version__"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_page_has_the_signature_of_every_function(name: str):
    assert write_signature(name) in PAGE.splitlines()


@pytest.mark.parametrize("name", VERBS)
def test_the_page_has_an_example_of_every_verb(name: str):
    section = PAGE.partition(f"\n### {name}\n")[2].partition("\n#")[0]
    assert re.search(rf"```py(thon)?\n.*\brw\.{name}\(", section, re.DOTALL)


@pytest.mark.parametrize("name", realworthy.__all__)
def test_the_page_names_everything(name: str):
    assert name in PAGE or name == "__version__"


def test_the_readme_goes_once_around_the_loop():
    block = next(text for text in re.findall(r"```python\n(.*?)```", README, re.DOTALL))
    called = [verb for verb in re.findall(r"rw\.(\w+)\(", block) if verb in LOOP]
    assert sorted(called) == sorted(LOOP)
    assert called[-3:] == list(LOOP[-3:])
    assert len(block.splitlines()) <= 16
