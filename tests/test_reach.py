"""Every module is there for a user: a command, a documented name or a recipe needs it.

Imports are followed from the commands, from the Python that README, pages and recipes
show and from the names of `realworthy`. A package that only passes a name on leads to
the module that defines it and to no other: to be in an `__init__` is no use by itself.
"""

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parents[1]
SOURCES = PROJECT / "src"
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
PYTHON = re.compile(r"^ *```py(?:thon)?\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
RUN = re.compile(r"python -m (realworthy[\w.]*)")
STARTS = ("realworthy", "realworthy.__main__", "realworthy.cli.main")
"""Where the interpreter begins: `import realworthy`, `python -m`, the command."""


@cache
def list_modules() -> dict[str, Path]:
    """Dotted name → file."""
    names = {}
    for path in sorted((SOURCES / "realworthy").rglob("*.py")):
        parts = path.relative_to(SOURCES).with_suffix("").parts
        names[".".join(parts).removesuffix(".__init__")] = path
    return names


@cache
def read(name: str) -> ast.Module:
    return ast.parse(list_modules()[name].read_text("utf-8"))


def list_imports(tree: ast.AST) -> Iterator[tuple[str, str, str]]:
    """(module, name, name here) of all imports that are run; `name` may be empty."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from ((one.name, "", one.asname or one.name) for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                yield node.module, one.name, one.asname or one.name
        else:
            yield from list_imports(node)


@cache
def list_passed_on(name: str) -> dict[str, tuple[str, str]]:
    """Names that a package imports and does not use: name → (module, name there)."""
    if list_modules()[name].name != "__init__.py":
        return {}
    tree = read(name)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    imports = list_imports(tree)
    return {
        here: (module, there) for module, there, here in imports if here not in used
    }


def find_homes(module: str, name: str) -> Iterator[str]:
    """The modules that `from module import name` leads to."""
    modules = list_modules()
    if module not in modules:
        return
    yield module
    if name in (passed_on := list_passed_on(module)):
        yield from find_homes(*passed_on[name])
    elif f"{module}.{name}" in modules:
        yield f"{module}.{name}"


def find_used(tree: ast.AST, *, passed_on: Iterable[str] = ()) -> set[str]:
    """Modules that some code leads to, those by name in a text included."""
    found = set[str]()
    packages = dict[str, str]()
    for module, name, here in list_imports(tree):
        if here not in passed_on:
            found |= set(find_homes(module, name))
            packages[here] = f"{module}.{name}" if name else module
    for node in ast.walk(tree):  # artefacts.save, of `from realworthy import artefacts`
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            package = packages.get(node.value.id, "")
            found |= set(find_homes(package, node.attr))
    texts = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return found | (texts & set(list_modules()))


def find_reached(starts: Iterable[str], scripts: Iterable[str]) -> set[str]:
    """Modules that are reached from others and from scripts, packages included."""
    waiting = set(starts)
    for script in scripts:
        waiting |= find_used(ast.parse(script)) | find_attributes(script)
    reached = set[str]()
    while waiting:
        name = waiting.pop()
        reached.add(name)
        found = find_used(read(name), passed_on=list_passed_on(name))
        parent = name.rpartition(".")[0]
        waiting |= (found | ({parent} if parent else set())) - reached
    return reached


def find_attributes(script: str) -> set[str]:
    """Modules behind `realworthy.name` and `rw.name`, which load when they are used."""
    import realworthy

    found = set[str]()
    for name in re.findall(r"\b(?:realworthy|rw)\.(\w+)", script):
        if name in realworthy.__all__:
            home = f"realworthy.{realworthy._HOMES.get(name, 'errors')}"
            found |= set(find_homes(home, name))
    return found


def list_scripts() -> list[str]:
    """What users are shown: pages, recipes, and every name of `realworthy`."""
    import realworthy

    blocks = [b for p in PAGES for b in PYTHON.findall(p.read_text("utf-8"))]
    pages = [textwrap.dedent(block) for block in blocks]
    recipes = sorted((PROJECT / "recipes").glob("*.py"))
    names = "\n".join(f"realworthy.{name}" for name in realworthy.__all__)
    return [*pages, *(recipe.read_text("utf-8") for recipe in recipes), names]


def test_every_module_is_reached_by_a_user():
    pages = "".join(page.read_text("utf-8") for page in PAGES)
    runs = {f"{name}.__main__" for name in RUN.findall(pages)}
    starts = {*STARTS, *(runs & set(list_modules()))}
    unreached = set(list_modules()) - find_reached(starts, list_scripts())
    assert not unreached, sorted(unreached)


def test_a_name_in_a_package_reaches_nothing():
    """`identification` passes on much; who takes one name gets one module."""
    script = "from realworthy.identification import find_base"
    reached = find_reached((), [script])
    home = "realworthy.identification.identifiability.base_parameters"
    assert {"realworthy.identification", home} <= reached
    assert "realworthy.identification.calibration.calibrate" not in reached


def test_what_only_type_checkers_see_reaches_nothing():
    script = "if TYPE_CHECKING:\n    from realworthy.gap import Gap"
    assert find_reached((), [script]) == set()
