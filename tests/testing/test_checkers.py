"""The checkers of other rooms are found here too."""

from __future__ import annotations

import accord
from accord import testing
from accord.transport import memory_pair
from accord.transport.interface import Transport


async def test_a_transport_is_checked() -> None:
    async def make_pair() -> tuple[Transport, Transport]:
        return memory_pair()

    await testing.check_transport(make_pair)


def test_they_are_the_same_as_those_of_the_package() -> None:
    assert testing.check_store is accord.check_store
    assert testing.check_transport is accord.check_transport


def test_every_name_that_is_promised_is_there() -> None:
    assert [name for name in testing.__all__ if not hasattr(testing, name)] == []
    assert set(testing.__all__) <= set(dir(testing))
    assert not hasattr(testing, "something_else")
