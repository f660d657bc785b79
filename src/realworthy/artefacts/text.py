"""YAML as text: floats to the bit, vectors on one line, no surprises.

Read as version 1.2 means it: `1e-3` is a number, `no`, `on` and dates are text, and a
key that stands twice is an error.
"""

import re
from collections.abc import Hashable, Sequence
from typing import Any

import msgspec
import yaml
from yaml.composer import Composer
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import Resolver
from yaml.scanner import Scanner

from realworthy.artefacts.reading_costs import BYTES

_FLOAT = "tag:yaml.org,2002:float"
_BOOL = "tag:yaml.org,2002:bool"
_TIME = "tag:yaml.org,2002:timestamp"
_NUMBER = re.compile(
    r"""(?:[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?
    |[-+]?[0-9]+[eE][-+]?[0-9]+
    |[-+]?\.(inf|Inf|INF)
    |\.(nan|NaN|NAN))\Z""",
    re.VERBOSE,
)
_NODE = 1024
"""[bytes] of memory for a value in YAML: 330 while a list of short numbers is read
(PyYAML 6.0.3, 2026-11-18), and what is made of it then."""
_DEEPEST = 100
"""Lists and keys within each other; files of ours have up to ten."""
_TRUTH = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")


def to_yaml(struct: msgspec.Struct) -> str:
    """YAML text that `load` reads back as the same Struct."""
    return dump_yaml(msgspec.to_builtins(struct))


def dump_yaml(tree: object) -> str:
    """A tree of plain values as YAML text."""
    return yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def parse_yaml(text: str) -> object:
    """The tree in YAML text.

    Raises `yaml.YAMLError` where it is none, and `RealworthyError` where it is too
    large; aliases count as often as they stand.
    """
    return yaml.load(text, Loader=_Loader)


def _list_parsers() -> tuple[Any, ...]:
    """What makes events of text: libyaml where PyYAML has it, which is far faster."""
    if hasattr(yaml, "CSafeLoader"):
        from yaml.cyaml import CParser  # pyright: ignore[reportAttributeAccessIssue]

        return (CParser,)
    return (Reader, Scanner, Parser)


class _Loader(Composer, *_list_parsers(), SafeConstructor, Resolver):
    """Refuses keys that stand twice, and trees that are too large or too deep.

    Nodes are composed in Python on purpose: libyaml's own composer recurses until the
    process dies. They are counted as they come, each alias with all that it stands
    for: ten aliases of ten aliases … are short as text, and endless to walk through.
    """

    def __init__(self, text: str) -> None:
        first, *rest = _list_parsers()
        first.__init__(self, text)
        for part in (*rest, Composer, SafeConstructor, Resolver):
            part.__init__(self)
        self._count = self._depth = 0
        self._sizes: dict[str, int] = {}
        """Anchor → nodes that an alias of it stands for."""
        self._most = BYTES.value // _NODE

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event, before = self.peek_event(), self._count
        self._depth += 1
        if self._depth > _DEEPEST:
            raise RecursionError
        node = super().compose_node(parent, index)
        self._depth -= 1
        self._count += 1
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._sizes:  # it stands within itself
                raise RecursionError
            self._count += self._sizes[event.anchor]
        elif event.anchor is not None:
            self._sizes[event.anchor] = self._count - before
        if self._count > self._most:
            problem = "reading it would take too many bytes of memory"
            BYTES.check(self._count * _NODE, problem)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        try:
            return super().construct_object(node, deep)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            kind = node.tag.rpartition(":")[2]
            problem = f"no value of type '{kind}' is written like this"
            raise ConstructorError(None, None, problem, node.start_mark) from error

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, object]:
        seen: set[object] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise ConstructorError(
                    None, None, f"the key '{key.value}' stands twice", key.start_mark
                )
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
        return super().construct_mapping(node, deep)


class _Dumper(yaml.SafeDumper):
    """Short lists on one line, so that a vector reads as a vector."""


def _represent_list(dumper: yaml.SafeDumper, values: Sequence[object]) -> yaml.Node:
    flat = all(isinstance(value, int | float | str | bool) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=flat)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, law) for tag, law in laws if tag not in (_FLOAT, _BOOL, _TIME)]
    for first, laws in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_BOOL, _TRUTH, list("tTfF"))
for _side in (_Loader, _Dumper):  # the dumper quotes text that reads like a number
    _side.add_implicit_resolver(_FLOAT, _NUMBER, list("-+.0123456789"))
_Dumper.add_representer(list, _represent_list)
_Dumper.add_representer(tuple, _represent_list)
