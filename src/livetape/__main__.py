"""``python -m livetape``: the same as the ``livetape`` command."""

import sys

from livetape.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
