"""`accord fleet`, without a database: the columns of its tables."""

import argparse
import time
from typing import Any

import pytest

from accord.cli.verbs import fleet
from accord.stores.postgres.nodes import NodeRecord


class _Nodes:
    """A store of two nodes; the clock of its database is an hour ahead of ours."""

    async def counts(self) -> list[NodeRecord]:
        ahead = time.time() + 3600
        return [
            NodeRecord("1", "live", until=ahead + 7.5, left_seconds=7.5),
            NodeRecord("2", "late", until=ahead - 1.0, left_seconds=-1.0),
        ]


async def test_the_rest_of_a_lease_is_shown_by_the_clock_of_the_database(capsys: pytest.CaptureFixture[str]) -> None:
    store: Any = _Nodes()
    await fleet._nodes(store, argparse.Namespace(json=False, watch=False))
    _, live, late = capsys.readouterr().out.splitlines()
    assert "7.5 s" in live
    assert "0.0 s" in late
