"""Where the log goes: nowhere, unless `ACCORD_LOG` names a level; then to stderr."""

from __future__ import annotations

import logging
import os
import sys

__all__ = ["direct_logs"]


def direct_logs() -> None:
    """Direct the log of this process. What a user must know is said by the command itself, and once."""
    level = os.environ.get("ACCORD_LOG", "").upper()
    if level in logging.getLevelNamesMapping():
        logging.basicConfig(stream=sys.stderr, level=level, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    else:
        logging.getLogger().addHandler(logging.NullHandler())
