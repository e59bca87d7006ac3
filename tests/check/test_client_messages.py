"""The messages of the stub agent fit the schema of their edition, where they are not malformed on purpose."""

from __future__ import annotations

from typing import Any

from accord.check.client.conversation import STEPS as PARTS, elicitation, every_update, greeting, opened, permission
from accord.check.engine.judging import JUDGES
from accord.check.rule import EditionName
from accord.protocol.codec import Codec
from accord.protocol.edition import V1, V2, V2_JUNE, Edition
from tests.tables import rows

EDITIONS: dict[EditionName, Edition] = {"v1": V1, "v2_june": V2_JUNE, "v2": V2}
OFFERED: dict[str, Any] = {"session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}}}


def fits(kind: Any, value: Any) -> None:
    """Raises where it does not."""
    Codec(strict=True).convert(kind, value)


@rows("name", EDITIONS)
def test_every_update_has_the_shape_of_its_edition(name: EditionName) -> None:
    kind = EDITIONS[name].notification("client", "session/update")
    assert kind is not None
    for update in every_update(name, OFFERED):
        fits(kind.params, {"sessionId": "s", "update": update})


@rows("name", EDITIONS)
def test_every_kind_of_update_of_an_edition_is_said(name: EditionName) -> None:
    said = {update["sessionUpdate"] for update in every_update(name, OFFERED)}

    counts = {"v1": 14, "v2_june": 13, "v2": 19}
    assert len(said) == counts[name]


@rows("name", EDITIONS)
def test_answers_and_questions_have_the_shape_of_their_edition(name: EditionName) -> None:
    edition = EDITIONS[name]
    for method, result in (("initialize", greeting(name, 1)), ("session/new", opened(name, "s"))):
        served = edition.request("agent", method)
        assert served is not None
        fits(served.result, result)
    asked = edition.request("client", "session/request_permission")
    assert asked is not None
    fits(asked.params, permission(name, "s", "May I?"))


@rows("name", ["v1", "v2"])
@rows("mode", ["form", "url"])
def test_elicitations_have_the_shape_of_their_edition(name: EditionName, mode: str) -> None:
    asked = EDITIONS[name].request("client", "elicitation/create")
    assert asked is not None
    fits(asked.params, elicitation("s", mode))


def test_every_part_is_looked_at_by_a_judge() -> None:
    looked_at = {name for judge in JUDGES for name in judge.steps}
    assert PARTS.keys() <= looked_at
