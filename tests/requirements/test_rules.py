"""The table and the tests are of one mind: every rule has a test, and no test shows a rule that there is not."""

from __future__ import annotations

import importlib
import inspect
from collections import Counter
from types import FunctionType

import pytest

from tests.requirements.rules import RULES, rules_of

MODULES = {"v1": "test_v1", "v2": "test_v2", "v2_june": "test_june"}


def functions_of(edition: str) -> list[FunctionType]:
    """The tests for an edition."""
    module = importlib.import_module(f"tests.requirements.{MODULES[edition]}")
    assert edition == module.EDITION
    return [each for name, each in inspect.getmembers(module, inspect.isfunction) if name.startswith("test_")]


@pytest.mark.parametrize("edition", MODULES)
def test_every_rule_has_a_test(edition: str) -> None:
    shown = {rule.id for test in functions_of(edition) for rule in rules_of(edition, test)}
    assert {rule.id for rule in RULES if rule.edition == edition} - shown == set()


@pytest.mark.parametrize("edition", MODULES)
def test_every_test_shows_a_rule(edition: str) -> None:
    assert [test.__name__ for test in functions_of(edition) if not rules_of(edition, test)] == []


def test_the_table_has_the_rows_of_the_kit() -> None:
    assert Counter((rule.edition, rule.tier) for rule in RULES if rule.edition != "v2_june") == {
        ("v1", "mandatory"): 21,
        ("v1", "capability"): 19,
        ("v1", "advisory"): 12,
        ("v1", "informational"): 4,
        ("v2", "mandatory"): 19,
        ("v2", "capability"): 51,
        ("v2", "advisory"): 20,
        ("v2", "informational"): 16,
    }
    assert len({(rule.edition, rule.id) for rule in RULES}) == len(RULES)
