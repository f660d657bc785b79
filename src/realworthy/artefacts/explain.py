"""What msgspec refuses, in the words of a file: where it is, and what was meant."""

import re

import msgspec

from realworthy.errors import RealworthyError, find_nearest

KEYS_HINT = "docs/artefacts.md lists every key."
_WORDS = {
    "float": "a number",
    "int": "a whole number",
    "str": "text",
    "bool": "true or false",
    "object": "keys with values",
    "array": "a list",
    "null": "empty",
}


def explain(
    error: msgspec.ValidationError, tree: dict[str, object], kind: type[msgspec.Struct]
) -> tuple[str, str]:
    """Problem and hint: `parameters.joint.damping.value: it should be a number, …`."""
    description, _, place = str(error).partition(" - at `")
    where = _locate(tree, kind, place.removesuffix("`"), str(error))
    prefix = f"{where}: " if where else ""
    if isinstance(error.__cause__, RealworthyError):
        return f"{prefix}{error.__cause__.problem}", error.__cause__.hint
    if place.startswith("key`"):
        return f"{prefix}its keys should be text.", KEYS_HINT
    name = next(iter(re.findall(r"['`]([^'`]*)['`]$", description)), "")
    if description.startswith("Object missing required field"):
        return f"{prefix}the key '{name}' is missing.", KEYS_HINT
    if description.startswith("Object contains unknown field"):
        return f"{prefix}there is no key '{name}'.", _hint(name, kind)
    if choice := re.match(r"Invalid (?:enum )?value (.*)$", description):
        return f"{prefix}{choice[1]} is not one of the choices.", _hint(name, kind)
    return f"{prefix}{_say(description)}.", KEYS_HINT


def _say(problem: str) -> str:
    """Expected `float | null`, got `str` → it should be a number, not text."""

    def words(match: re.Match[str]) -> str:
        types = [name for name in match[1].split(" | ") if name != "null"]
        return " or ".join(_WORDS.get(name, name) for name in types or ["null"])

    plain = re.sub(r"`([^`]*)`", words, problem)
    plain = re.sub(r"[<>]= -?1\.79[0-9]+e\+308", "that is finite", plain)
    return plain.replace("Expected ", "it should be ").replace(", got ", ", not ")


def _hint(name: str, kind: type[msgspec.Struct]) -> str:
    nearest = find_nearest(name, _list_words(kind))
    return f"Nearest: '{nearest[0]}'. {KEYS_HINT}" if nearest else KEYS_HINT


def _locate(
    tree: dict[str, object], kind: type[msgspec.Struct], place: str, said: str
) -> str:
    """`$.parameters[...].value` with the keys that msgspec leaves out filled in."""
    steps: list[str | int] = []
    shown = ""
    for name, index in re.findall(
        r"\.([^.\[`]+)|\[(\d+|\.\.\.)\]", place.partition("$")[2]
    ):
        if index == "...":
            key = _find_key(tree, steps, kind, said)
            if key is None:
                return f"{shown}.…".lstrip(".")
            steps.append(key)
            shown += f".{key}"
        elif index:
            steps.append(int(index))
            shown += f"[{index}]"
        else:
            steps.append(name)
            shown += f".{name}"
    return shown.lstrip(".")


def _find_key(
    tree: dict[str, object],
    steps: list[str | int],
    kind: type[msgspec.Struct],
    said: str,
) -> str | None:
    """The key of the mapping at `steps` that is refused in the same words alone."""
    for key in _follow(tree, steps):
        try:
            msgspec.convert(_prune(tree, [*steps, key]), kind)
        except msgspec.ValidationError as error:
            if str(error) == said:
                return str(key)
        except RealworthyError:
            continue
    return None


def _follow(tree: object, steps: list[str | int]) -> list[str]:
    """Keys of the mapping at the end of `steps`."""
    for step in steps:
        match tree:
            case dict():
                tree = tree[step]
            case list():
                tree = tree[int(step)]
    return list(tree) if isinstance(tree, dict) else []


def _prune(tree: object, steps: list[str | int]) -> object:
    """A copy whose mapping at the end of `steps` has only the last of them."""
    first, *rest = steps
    if isinstance(tree, dict):
        if not rest:
            return {first: tree[first]}
        return {**tree, first: _prune(tree[first], rest)}
    assert isinstance(tree, list)
    assert isinstance(first, int)
    return [_prune(each, rest) if i == first else each for i, each in enumerate(tree)]


def _list_words(kind: type[msgspec.Struct]) -> set[str]:
    """Every key, and every name of a variant, that files of this kind may hold."""
    from msgspec import inspect

    words: set[str] = set()
    seen: set[int] = set()
    root = inspect.type_info(kind)
    waiting: list[object] = [root]
    while waiting:
        info = waiting.pop()
        if id(info) in seen:
            continue
        seen.add(id(info))
        if isinstance(info, inspect.StructType):
            words.update(field.encode_name for field in info.fields)
            words.update(str(w) for w in (info.tag_field, info.tag) if w is not None)
            waiting.extend(field.type for field in info.fields)
        elif isinstance(info, inspect.UnionType):
            waiting.extend(info.types)
        elif isinstance(info, inspect.LiteralType | inspect.EnumType):
            choices = info.values if isinstance(info, inspect.LiteralType) else info.cls
            words.update(str(choice) for choice in choices)
        elif isinstance(info, inspect.DictType):
            waiting.append(info.value_type)
        elif isinstance(info, inspect.ListType | inspect.VarTupleType):
            waiting.append(info.item_type)
    return words
