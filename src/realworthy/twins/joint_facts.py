"""Joints of a twin as a mapping of foreign columns needs to know them."""

from realworthy.recordings.propose import JointFacts
from realworthy.twins.bind import bind
from realworthy.twins.commands import describe_commands
from realworthy.twins.layout import Layout
from realworthy.twins.twin import Twin
from realworthy.twins.writers.joints import is_slide


def list_joint_facts(twin: Twin) -> tuple[JointFacts, ...]:
    """Hinges and slides in the order of the model, each with its range and command."""
    bound = bind(twin)
    layout = Layout(bound)
    ranges = layout.joint_ranges()
    lines = {line.joint: line for line in reversed(describe_commands(bound))}
    facts = []
    for joint in layout.joints:
        line = lines.get(joint)
        lower, upper = ranges[joint]
        facts.append(
            JointFacts(
                joint=joint,
                lower=float(lower),
                upper=float(upper),
                slides=bool(is_slide(bound.model, bound.model.joint(joint).id)),
                command=line.signal if line else "",
                command_kind=line.kind if line else None,
            )
        )
    return tuple(facts)
