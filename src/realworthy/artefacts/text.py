"""YAML as text: floats to the bit, vectors on one line, no surprises.

Read as version 1.2 means it: `1e-3` is a number, `no`, `on` and dates are text, and a
key that stands twice is an error.
"""

import re
from collections.abc import Hashable, Sequence

import msgspec
import yaml

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
_TRUTH = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")


def to_yaml(struct: msgspec.Struct) -> str:
    """YAML text that `load` reads back as the same Struct."""
    return dump_yaml(msgspec.to_builtins(struct))


def dump_yaml(tree: object) -> str:
    """A tree of plain values as YAML text."""
    return yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def parse_yaml(text: str) -> object:
    """The tree in YAML text; raises `yaml.YAMLError` or `RecursionError`."""
    return yaml.load(text, Loader=_Loader)


class _Loader(yaml.SafeLoader):
    """Refuses keys that stand twice."""

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, object]:
        seen: set[object] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(
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
