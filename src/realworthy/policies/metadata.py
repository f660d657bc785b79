"""Contracts as text: JSON inside a policy, YAML beside a foreign one."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from realworthy.artefacts import Migrator, Tree, load, read_tree, reading
from realworthy.artefacts.explain import explain
from realworthy.errors import BadFile, RealworthyError
from realworthy.policies.contract import SCHEMA, Contract

KEY = "realworthy"
"""Of the metadata, under which the contract stands as JSON."""
SIDECAR_SUFFIX = ".contract.yaml"
MIGRATORS: dict[int, Migrator] = {1: dict}
"""Schema n → what turns a tree of it into n + 1. Schema 1 had one input alone, all of
terms: a contract of it says the same in schema 2, which has further keys."""
_INSIDE = ("normaliser", "provenance", "parity")
"""Keys that a hand-written contract may lack and a policy of ours may not."""


def write_metadata(contract: Contract) -> dict[str, str]:
    """The contract under one key, and flat keys that other programs look for."""
    action, gains = contract.action, contract.gains
    owners = contract.command_owners
    flat = {
        "task": contract.task,
        "joint_names": _join(owners),
        "observation_names": _join(term.name for term in contract.terms),
        "command_names": _join(contract.inputs),
        "action_scale": _join(action.scale),
        "control_dt": repr(contract.period),
        "decimation": str(contract.substeps),
        "quat_order": contract.conventions.quaternion,
        "action_type": contract.command_kind,
    }
    if contract.command_kind == "position":
        flat |= {
            "default_joint_pos": _join(action.offset),
            "joint_stiffness": _join(gains[owner].kp for owner in owners),
            "joint_damping": _join(gains[owner].kd for owner in owners),
        }
    return {KEY: msgspec.json.encode(contract).decode(), **flat}


def read_metadata(path: Path, metadata: Mapping[str, str]) -> Contract:
    """The contract inside a policy of ours."""
    with reading(path, "a policy with a whole contract in it", hint=_HINT):
        try:
            tree = msgspec.json.decode(metadata[KEY], type=dict[str, object])
        except msgspec.MsgspecError as error:
            raise BadFile(path, f"its metadata '{KEY}' is not JSON: {error}.") from None
        contract = _build(path, tree)
    for key in _INSIDE:
        if getattr(contract, key) is None:
            raise BadFile(path, f"the contract's key '{key}' is missing.", hint=_HINT)
    return contract


def read_sidecar(path: Path) -> Contract:
    """`<name>.contract.yaml`, written by hand for a policy from elsewhere."""
    tree = read_tree(path)
    keys = [key.name for key in msgspec.structs.fields(Contract) if key.required]
    if len(absent := [key for key in keys if key not in tree]) > 1:
        raise BadFile(
            path,
            f"{len(absent)} keys are missing: {', '.join(absent)}.",
            hint="Fill them in; docs/foreign_policies.md explains every key.",
        )
    return load(path, Contract, schema=SCHEMA, migrators=MIGRATORS)


def name_sidecar(policy: Path) -> Path:
    """Where the contract of a foreign policy is looked for."""
    return policy.with_name(policy.stem + SIDECAR_SUFFIX)


_HINT = "Export the policy again; docs/policies.md lists every key."


def _build(path: Path, tree: Tree) -> Contract:
    schema = tree.get("schema")
    if schema is None:
        raise BadFile(path, "the contract's key 'schema' is missing.", hint=_HINT)
    if not isinstance(schema, int) or not 1 <= schema <= SCHEMA:
        raise BadFile(
            path,
            f"its contract has schema {schema!r}; this Realworthy reads up to"
            f" {SCHEMA}.",
            hint="Try: pip install --upgrade realworthy",
        )
    for step in range(schema, SCHEMA):
        tree = MIGRATORS[step](tree)
    try:
        return msgspec.convert(tree | {"schema": SCHEMA}, Contract)
    except RealworthyError as error:
        raise BadFile(path, f"its contract: {error.problem}", hint=error.hint) from None
    except msgspec.ValidationError as error:
        problem, _ = explain(error, tree, Contract)
        raise BadFile(path, f"its contract: {problem}", hint=_HINT) from None


def _join(values) -> str:
    return ",".join(str(value) for value in values)
