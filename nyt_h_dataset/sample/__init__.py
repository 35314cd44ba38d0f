"""The synthetic corpus in the authors' format, with its true spans."""
