"""``python -m psdopt`` is the command ``psdopt``."""

import sys

from psdopt.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
