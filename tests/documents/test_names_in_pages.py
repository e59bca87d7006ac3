"""Every dotted name of the package on a page exists, so that a renamed class or module is noticed in the prose."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import accord
from tests.documents.test_links import PAGES
from tests.tables import rows

# The reference is generated, the changes speak of names of their day.
WRITTEN = [page for page in PAGES if page.parent.name not in {"reference", "changes"}]
_NAME = re.compile(r"(?<![\w/.-])accord(?:\.[A-Za-z_]\w*)+(?!\.?\w*/)")


def exists(name: str) -> bool:
    value: object = accord
    path = "accord"
    for word in name.split(".")[1:]:
        path = f"{path}.{word}"
        if hasattr(value, word):
            value = getattr(value, word)
            continue
        try:
            value = importlib.import_module(path)
        except ModuleNotFoundError as error:
            # An adapter of a framework that is not installed here: its own module is what can be seen of it.
            return not (error.name or "accord").startswith("accord")
        except ImportError:
            return False
    return True


@rows("page", WRITTEN)
def test_every_name_of_the_package_on_a_page_exists(page: Path) -> None:
    text = re.sub(r"\]\([^)]*\)", "]", page.read_text(encoding="utf-8"))
    assert [name for name in sorted(set(_NAME.findall(text))) if not exists(name)] == []


def test_a_name_that_is_gone_is_noticed() -> None:
    assert exists("accord.agent.Turn")
    assert not exists("accord.agent.Voice")
