"""What is remembered, counted, summarised and cut."""

from __future__ import annotations

import msgspec

from accord.coder.memory import Memory, remembered
from accord.coder.model import ModelReply, Picture, ToolResult, ToolResults, ToolUse, UserMessage, estimated_tokens
from accord.session.remembered import PathTarget, RememberedAnswer


def full() -> Memory:
    memory = Memory()
    memory.add(
        UserMessage("one", [Picture("AAEC", "image/png")]),
        ModelReply("", [ToolUse("1", "read", {"path": "a"})], "m", {"any": ["JSON"]}),
        ToolResults([ToolResult("1", "read", "x" * 4_000)]),
        ModelReply("done"),
    )
    return memory


def test_a_memory_survives_being_kept() -> None:
    memory = full()
    memory.answers.append(RememberedAnswer("allow", targets=(PathTarget("edit", "/a"),)))
    memory.pay(0.25)

    assert remembered(msgspec.json.decode(msgspec.json.encode(memory))) == memory


def test_what_earlier_versions_allowed_is_not_taken_over() -> None:
    assert remembered({"allowed": ["edit"]}) == Memory()


def test_nothing_kept_is_an_empty_memory() -> None:
    assert remembered(None) == Memory()
    assert remembered(["nonsense"]) == Memory()


def test_tokens_are_counted_as_far_as_possible_then_estimated() -> None:
    memory = full()
    assert memory.tokens == estimated_tokens(*memory.messages) > 2_400
    memory.count(10)
    memory.add(UserMessage("x" * 400))

    assert memory.tokens == 110


def test_what_is_forgotten_is_not_counted() -> None:
    memory = full()
    memory.count(10_000)
    memory.forget_from(1)

    assert [type(message) for message in memory.messages] == [UserMessage]
    assert memory.tokens < 2_000


def test_a_summary_takes_the_place_of_what_was_before() -> None:
    memory = full()
    memory.add(UserMessage("two"))

    assert memory.summarise(4, "They read a.") == 2
    summary, _, two = memory.messages
    assert isinstance(summary, UserMessage)
    assert summary.text.endswith("They read a.")
    assert two == UserMessage("two")


def test_old_results_are_cut_but_never_the_last() -> None:
    memory = full()
    memory.add(UserMessage("two"), ToolResults([ToolResult("2", "read", "y" * 4_000)]))
    memory.shorten_results(0, 0)

    texts = [m.results[0].text for m in memory.messages if isinstance(m, ToolResults)]
    assert texts[0].endswith("[cut, to save room]")
    assert texts[1] == "y" * 4_000


def test_a_price_that_nobody_knows_is_none() -> None:
    memory = Memory()
    memory.pay(None)
    assert not memory.priced
    memory.pay(0.5)
    memory.pay(0.25)
    assert (memory.priced, memory.cost) == (True, 0.75)
