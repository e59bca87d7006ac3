"""The manifest itself: one sentence each, a public page, an id with one meaning."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import pytest

from accord.check import CAUSES, RULES, find, rules_for
from accord.check.rule import EDITIONS, EditionName
from tests.tables import rows


@rows("edition", EDITIONS)
def test_a_rule_is_one_sentence_and_has_a_page(edition: EditionName) -> None:
    for rule in RULES:
        if rule.edition != edition:
            continue
        assert re.fullmatch(r"(ACP|ACCORD)(-[A-Z0-9]+)+-\d{3}", rule.id), rule
        assert rule.says == rule.says.strip(), rule
        assert "\n" not in rule.says, rule
        assert not rule.says.endswith("."), rule
        assert rule.says[0].isupper() or rule.says[0] == "`", rule
        assert re.match(r"(protocol|schema|rfds)/|https://", rule.page), rule
        assert not rule.gate or rule.gate.split(".")[0] in {"initialize", "new"}, rule
        assert rule.tier != "capability" or rule.gate or rule.side == "client" or rule.superseded, rule


def test_an_id_stands_once_in_an_edition_for_each_side() -> None:
    counted = Counter((rule.edition, rule.id) for rule in RULES)
    assert [key for key, count in counted.items() if count > 1] == []


def test_the_public_kit_is_there_with_its_ids_and_what_november_overrules_is_superseded() -> None:
    by_edition: dict[str, set[str]] = defaultdict(set)
    for rule in RULES:
        if rule.id.startswith("ACP-"):
            by_edition[rule.edition].add(rule.id)
    assert len(by_edition["v1"]) == 56
    assert len(by_edition["v2"]) == 106
    overruled = {rule.id for rule in RULES if rule.superseded}
    assert {f"ACP-BATCH-20{number}" for number in (2, 3, 4, 5)} <= overruled
    assert all(not find("v2_june", id_).superseded for id_ in sorted(overruled))


def test_a_cause_names_rules_that_there_are() -> None:
    for cause in CAUSES:
        known = {rule.id for side in ("agent", "client") for rule in rules_for(cause.edition, side)}
        assert cause.ids <= known, cause
        assert not cause.says.endswith(".")


def test_every_edition_has_rules_for_both_sides() -> None:
    for edition in ("v1", "v2_june", "v2"):
        for side in ("agent", "client"):
            assert len(rules_for(edition, side)) > 50
    with pytest.raises(KeyError):
        find("v1", "ACP-NOTHING-001")
