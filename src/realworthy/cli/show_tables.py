"""`show tables`: ranges that others have published for randomization."""

from realworthy.cli.printing import emit_heading, emit_note, emit_table
from realworthy.errors import UnknownName
from realworthy.parameters.published_tables import TABLES


def show_tables() -> object:
    """Every table in a line."""
    emit_table(
        "Published ranges",
        ("name", "rows", "source"),
        [(name, len(table.rows), table.source) for name, table in TABLES.items()],
    )
    emit_note("realworthy train TASK --table NAME draws worlds from one.", style="")
    return {
        "tables": [
            {"name": name, "source": table.source} for name, table in TABLES.items()
        ]
    }


def show_table(name: str) -> object:
    """What one says, row by row."""
    if name not in TABLES:
        hint = "All: realworthy show tables"
        raise UnknownName("table", name, TABLES, owner="Realworthy", hint=hint)
    table = TABLES[name]
    emit_heading(name, table.source)
    emit_table(
        "Ranges", ("range", "of"), [(row.text, row.whose.value) for row in table.rows]
    )
    if table.push_speed:
        low, high = table.push_every
        emit_note(
            f"Pushes of up to {table.push_speed:g} m/s, {low:g} to {high:g} s apart.",
            style="",
        )
    return {
        "name": name,
        "source": table.source,
        "rows": [
            {
                "kind": row.kind,
                "lower": row.lower,
                "upper": row.upper,
                "operation": row.operation.name.lower(),
            }
            for row in table.rows
        ],
        "push_speed": table.push_speed,
    }
