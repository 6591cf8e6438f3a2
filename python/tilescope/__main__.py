"""The command: `python -m tilescope`, and `tilescope` where the wheel is installed."""

import os
import sys

from . import _tilescope


def main() -> None:
    """Runs the command with the words of sys.argv and ends the process."""
    code = _tilescope.run_command([b"tilescope", *map(os.fsencode, sys.argv[1:])])
    sys.exit(code)


if __name__ == "__main__":
    main()
