"""The frameworks of this environment: `scripts/adapters` makes one for each, and others are skipped by name."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

# Programs of frameworks take minutes; that script runs them.
BY_SCRIPT = pytest.mark.needs("ACCORD_ADAPTERS" in os.environ, "scripts/adapters")
NPM_FOLDER = Path(sys.prefix) / "npm"
"""The packages of npm that `scripts/adapters` put beside those of Python."""


def is_installed(name: str) -> bool:
    """Whether a package is there; `google` is a folder of many."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def framework_param(name: str, *needs: str) -> Any:
    """The parameter of a framework, which is skipped where a package of it is missing."""
    missing = ", ".join(package for package in needs or (name,) if not is_installed(package))
    reason = f"{missing} missing: scripts/adapters installs it"
    return pytest.param(name, marks=pytest.mark.skipif(bool(missing), reason=reason))


def npm_framework_param(name: str, *needs: str) -> Any:
    """The parameter of a framework on Node.js, which is skipped where that or a package of it is missing."""
    missing = [package for package in needs if not (NPM_FOLDER / "node_modules" / package / "package.json").exists()]
    missing += [] if shutil.which("node") else ["node"]
    reason = f"{', '.join(missing)} missing: scripts/adapters installs the packages where npm is"
    return pytest.param(name, marks=pytest.mark.skipif(bool(missing), reason=reason))
