"""A table as plain values, and how its cells write numbers: terminals, cards and pages show the same."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MISSING = "-"
FORMATS = ("markdown", "table", "latex", "csv")


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
        r"""Return the table in Markdown, its notes below.

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

    def aligned(self) -> str:
        """Return the table in columns of one width, for a terminal.

        >>> print(Table(["F1", "a"], [["micro", "50.00"], ["macro", "7.50"]]).aligned())
        F1         a
        micro  50.00
        macro   7.50
        """
        rows = [list(self.header), *map(list, self.rows)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(self.header))]
        return "\n".join(
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in rows
        )

    def latex(self) -> str:
        r"""Return the table as a `tabular` with the rules of the package booktabs.

        >>> print(Table(["F1", "a_b"], [["micro", "50 %"]]).latex())
        \begin{tabular}{lr}
        \toprule
        F1 & a\_b \\
        \midrule
        micro & 50 \% \\
        \bottomrule
        \end{tabular}
        """
        lines = [" & ".join(map(latex_escaped, row)) + r" \\" for row in (self.header, *self.rows)]
        columns = "l" + "r" * (len(self.header) - 1)
        return "\n".join(
            [
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                lines[0],
                r"\midrule",
                *lines[1:],
                r"\bottomrule",
                r"\end{tabular}",
            ]
        )

    def csv(self) -> str:
        """Return the table as comma-separated lines."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.header, *self.rows])
        return text.getvalue().removesuffix("\n")

    def __repr__(self) -> str:
        """As `aligned`."""
        return self.aligned()

    def _repr_html_(self) -> str:
        """What a notebook shows.

        >>> Table(["F1", "a<b"], [["micro", "50.00"]])._repr_html_()
        '<table><tr><th>F1</th><th>a&lt;b</th></tr><tr><th>micro</th><td>50.00</td></tr></table>'
        """
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self.header)
        rows = (
            f"<th>{html.escape(row[0])}</th>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])
            for row in self.rows
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>{notes}"

    def to_frame(self) -> Any:
        """Return a pandas DataFrame of the cells as text, its index the first column.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas as pd

        frame = pd.DataFrame([list(row) for row in self.rows], columns=list(self.header))
        return frame.set_index(self.header[0])

    def rendered(self, form: str) -> str:
        """Return the table in one of FORMATS; only Markdown has the notes below it."""
        writers = {"markdown": self.markdown, "table": self.aligned, "latex": self.latex, "csv": self.csv}
        return writers[form]()


def escaped(text: str) -> str:
    r"""Return text for a cell in Markdown: one line, bars (and the escapes of bars) escaped.

    >>> escaped("a|b\n c")
    'a\\|b c'
    """
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")


LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "±": r"$\pm$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def latex_escaped(text: str) -> str:
    r"""Return text for LaTeX: one line, its special characters escaped.

    >>> latex_escaped("a_b & c ± 1")
    'a\\_b \\& c $\\pm$ 1'
    """
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in " ".join(text.split()))


def percent(value: float | None, sd: float | None = None, *, digits: int = 2) -> str:
    """Return a fraction in percent, with its standard deviation where there is one; "-" for none.

    >>> percent(0.12345), percent(0.5, 0.01, digits=1), percent(None)
    ('12.35', '50.0 ± 1.0', '-')
    """
    if value is None:
        return MISSING
    return f"{100 * float(value):.{digits}f}" + ("" if sd is None else f" ± {100 * float(sd):.{digits}f}")


def number(value: float | None, form: str = ".4f") -> str:
    """Return a number in a format; "-" for none.

    >>> number(0.12345), number(2, "+.1f"), number(None)
    ('0.1235', '+2.0', '-')
    """
    return MISSING if value is None else format(value, form)
