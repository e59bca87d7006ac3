"""The corpus is valid: what the mutator breaks was whole before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import pytest

from accord.protocol.codec import Codec
from accord.protocol.edition import EDITIONS, Edition
from accord.protocol.method import RequestMethod
from tests.fuzz.corpus import CORPORA
from tests.tables import rows

SIDES: tuple[Literal["agent", "client"], ...] = ("agent", "client")


def shapes() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    for edition in EDITIONS:
        for side in SIDES:
            corpus = CORPORA[edition.name, side]
            for name, all_params in corpus.requests.items():
                method = edition.request(side, name)
                for params in all_params:
                    yield f"{edition.name} {side} {name}", method and method.params, params
                yield f"{edition.name} {side} {name} result", method and method.result, corpus.results[name]
            for name, all_params in corpus.notifications.items():
                notification = edition.notification(side, name)
                for params in all_params:
                    yield f"{edition.name} {side} {name}", notification and notification.params, params


@rows(("kind", "value"), [pytest.param(kind, value, id=name) for name, kind, value in shapes()])
def test_every_shape_is_valid_to_the_letter(kind: Any, value: dict[str, Any]) -> None:
    assert kind is not None
    Codec(strict=True).decode(kind, json.dumps(value).encode())


@rows("edition", EDITIONS)
def test_every_method_has_its_shape(edition: Edition) -> None:
    for method in edition.methods:
        for side in SIDES if method.side == "both" else (method.side,):
            corpus = CORPORA[edition.name, side]
            table = corpus.requests if isinstance(method, RequestMethod) else corpus.notifications
            assert method.name in table, (edition, side, method)
