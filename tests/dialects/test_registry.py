"""Dialect plug-ins by name: the entry points of installed packages, ours and others'."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import accord
from accord import simse
from accord.dialects import dialect_names, load_dialect
from tests.limits import limit

SHOUTING = """
from accord.dialects import DialectPlugin


class Dialect(DialectPlugin):
    name = "shouting"
"""
PROGRAM = """
import json, sys
from accord.dialects import dialect_names, load_dialect
names = dialect_names()
before = [name for name in sys.modules if name in ("shouting", "accord.simse")]
print(json.dumps([names, before, type(load_dialect("shouting")).__module__]))
"""


def test_simse_is_registered_as_anybody_would_register_a_dialect() -> None:
    assert "simse" in dialect_names()
    assert type(load_dialect("simse")) is simse.SimseDialect


def test_a_dialect_that_is_not_installed_is_refused_with_the_names_of_those_that_are() -> None:
    with pytest.raises(accord.LocalProtocolError) as caught:
        load_dialect("french")
    assert (caught.value.field, "simse" in (caught.value.expected or "")) == ("dialect", True)


def install(folder: Path, entry: str) -> None:
    """A package of somebody else, as an installer leaves it."""
    (folder / "shouting.py").write_text(SHOUTING, encoding="utf-8")
    info = folder / "shouting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[accord.dialects]\n{entry}\n", encoding="utf-8")


def test_another_package_adds_its_dialect_and_is_imported_when_it_is_chosen(tmp_path: Path) -> None:
    install(tmp_path, "shouting = shouting:Dialect")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=limit(60), check=True
    )
    assert json.loads(done.stdout) == [["shouting", "simse"], [], "shouting"]


def test_an_entry_point_that_gives_no_plug_in_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "shouting = builtins:dict")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(accord.LocalProtocolError) as caught:
        load_dialect("shouting")
    assert caught.value.field == "dialect"
