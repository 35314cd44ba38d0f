"""Making and judging a corpus as NYT-H was made: convert, build, sheet, merge."""
