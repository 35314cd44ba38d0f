"""A table as plain values, and how its cells write numbers: terminals, cards and pages show the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MISSING = "-"


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows; cells are plain text, not yet escaped for anything.

    Attributes:
        header: the titles of the columns.
        rows: the cells, as many a row as there are titles.
        notes: lines that belong under the table.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        r"""The table in Markdown, its notes below.

        >>> print(Table(["F1", "a|b"], [["micro", "50.00"]], notes=["One run."]).markdown())
        | F1 | a\|b |
        | --- | ---: |
        | micro | 50.00 |
        <BLANKLINE>
        One run.
        """
        rule = ["---", *["---:"] * (len(self.header) - 1)]
        lines = [[escaped(cell) for cell in self.header], rule]
        lines += [[escaped(cell) for cell in row] for row in self.rows]
        table = [f"| {' | '.join(cells)} |" for cells in lines]
        notes = [" ".join(note.split()) for note in self.notes]
        return "\n".join([*table, *([""] if notes else []), *notes])


def escaped(text: str) -> str:
    r"""Text for a cell in Markdown: one line, bars (and the escapes of bars) escaped.

    >>> escaped("a|b\n c")
    'a\\|b c'
    """
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")


def percent(value: float | None, sd: float | None = None, *, digits: int = 2) -> str:
    """A fraction in percent, with its standard deviation where there is one; "-" for none.

    >>> percent(0.12345), percent(0.5, 0.01, digits=1), percent(None)
    ('12.35', '50.0 ± 1.0', '-')
    """
    if value is None:
        return MISSING
    return f"{100 * float(value):.{digits}f}" + ("" if sd is None else f" ± {100 * float(sd):.{digits}f}")


def number(value: float | None, form: str = ".4f") -> str:
    """A number in a format; "-" for none.

    >>> number(0.12345), number(2, "+.1f"), number(None)
    ('0.1235', '+2.0', '-')
    """
    return MISSING if value is None else format(value, form)
