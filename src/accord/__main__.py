"""`python -P -m accord`: the command. Without `-P`, a file `accord.py` of the current directory would run instead."""

import sys

from accord.cli.main import main

sys.exit(main())
