"""`python -m accord`: the command."""

import sys

from accord.cli.main import main

sys.exit(main())
