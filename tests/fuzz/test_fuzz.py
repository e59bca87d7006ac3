"""Mutated lines through an agent and a client: no crash, no hang, every request answered once, nothing grows."""

from __future__ import annotations

import asyncio
import gc
import sys
import tracemalloc
from pathlib import Path

import pytest

from accord.protocol.edition import V1, V2, V2_JUNE, Edition
from tests.fuzz.corpus import CORPORA
from tests.fuzz.mutator import Mutator
from tests.fuzz.rig import Target, Way, under_fire

ROUND_TEXTS = 400
LONG_TEXTS = 200_000

WAYS = {
    "lines": Way("pipes", "lines", "lines"),
    "headers": Way("socketpair", "headers", "headers"),
    "auto": Way("socketpair", "auto", "lines"),
    "auto headers": Way("pipes", "auto", "headers"),
    "threads": Way("pipes", "lines", "lines", force_threads=True),
}


def resident_bytes() -> int:
    """What this process holds; 0 where the system does not say."""
    if sys.platform != "linux":
        return 0
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


async def one_round(targets: tuple[Target, Target]) -> None:
    tasks = len(asyncio.all_tasks())
    for target in targets:
        await target.fire(ROUND_TEXTS)
    for target in targets:
        await target.settle()
    # One that was just ending when the round began may be gone.
    assert len(asyncio.all_tasks()) <= tasks


@pytest.mark.sampled(3)
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("edition", "way"),
    [
        (V1, "lines"),
        (V2, "lines"),
        (V2_JUNE, "lines"),
        (V1, "headers"),
        (V2, "auto"),
        (V2_JUNE, "auto headers"),
        (V1, "threads"),
    ],
    ids=str,
)
async def test_mutated_lines_are_survived_and_answered(edition: Edition, way: str) -> None:
    async with under_fire(edition, WAYS[way], seed=2026) as targets:
        for _ in range(3):
            await one_round(targets)
        for target in targets:
            assert target.texts_sent > ROUND_TEXTS
            # Much of it still is a request: the mutator must not drift into noise.
            assert target.answers_heard > target.texts_sent / 3


@pytest.mark.parametrize("way", ["headers", "auto headers"])
async def test_frames_that_lie_about_their_length_end_no_connection(way: str) -> None:
    async with under_fire(V1, WAYS[way], seed=31) as targets:
        for _ in range(5):
            for target in targets:
                await target.fire_damaged_frames(200)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("edition", [V1, V2, V2_JUNE], ids=lambda edition: edition.name)
async def test_two_hundred_thousand_mutated_lines_leave_nothing_behind(edition: Edition) -> None:
    async with under_fire(edition, WAYS["lines"], seed=7) as targets:
        while min(target.texts_sent for target in targets) < LONG_TEXTS / 10:
            await one_round(targets)
        warm_bytes = resident_bytes()
        while min(target.texts_sent for target in targets) < LONG_TEXTS:
            await one_round(targets)
        assert resident_bytes() - warm_bytes < 16 * 1024 * 1024


@pytest.mark.parametrize(
    "edition", [V1, *(pytest.param(each, marks=pytest.mark.long) for each in (V2, V2_JUNE))], ids=lambda each: each.name
)
async def test_memory_does_not_grow_with_the_number_of_lines(edition: Edition) -> None:
    async with under_fire(edition, WAYS["lines"], seed=99) as targets:
        for _ in range(3):
            await one_round(targets)
        tracemalloc.start()
        try:
            sizes = [await size_after_round(targets) for _ in range(3)]
        finally:
            tracemalloc.stop()
        # What is made at its first use, such as a decoder, may still come late; what stays per text may not.
        assert sizes[-1] - sizes[0] < 4 * ROUND_TEXTS * 32


async def size_after_round(targets: tuple[Target, Target]) -> int:
    """What Python holds of all that was made since tracing began."""
    await one_round(targets)
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.parametrize("edition", [V1, V2, V2_JUNE], ids=lambda edition: edition.name)
async def test_the_same_seed_gives_the_same_lines(edition: Edition) -> None:
    first, second = (Mutator(5, CORPORA[edition.name, "agent"]) for _ in range(2))
    assert [first.text() for _ in range(500)] == [second.text() for _ in range(500)]
