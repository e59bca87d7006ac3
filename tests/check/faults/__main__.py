"""Runs a faulty or conforming agent as a process, from any folder: `python tests/check/faults v1 BannerOnStdout`.

Without a name it lists those of the edition, without an edition all of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

# Whoever starts this folder has it in the path, and not the folder that `tests` lies in.
sys.path[0] = str(Path(__file__).resolve().parents[3])

from tests.check.faults.program import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
