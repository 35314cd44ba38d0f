"""`python -m finetune`: the training command, its help, and the demo."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .command_line import help_text, train_command
from .training.processes import leave


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, 2 for what cannot be used, 130 when it was stopped."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if not argv or argv[0] in ("-h", "--help"):
        print(help_text())
        return 0
    if "--help_trainer" in argv:
        print(help_text(with_trainer=True))
        return 0
    if argv[0] == "demo":
        from .demo import demo_main

        return demo_main(argv[1:])
    return train_command(argv)


if __name__ == "__main__":
    leave(main())
