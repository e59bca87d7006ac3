"""The export to a test: a file for pytest that plays the recorded agent for a client, with the fixtures of Accord."""

from __future__ import annotations

import re

from accord.display import exact
from accord.trace.exports.selection import ExportSelection, Put
from accord.trace.format import TraceFileError
from accord.trace.index_columns import RecordKind

__all__ = ["write_pytest"]

_TEMPLATE = '''\
"""The conversation of {title}, as a test. Keep the trace beside this file, and change the test as you need it."""


def test_the_conversation_of_{word}(accord_open, accord_replay):
    agent = accord_replay({name!a})
    session = accord_open(agent{permission})
    for prompt in agent.prompts:
        session.prompt(prompt).text
    session.close()
    # The messages in which this client differs from the recorded one; ids, times and its introduction do not count.
    assert agent.deviations == []
'''
REPLAYED = frozenset({"accord-trace", "wire", "probe"})
"""The formats that replay reads."""
_QUESTIONS = ", permission=[True] * {count}"


def write_pytest(selection: ExportSelection, put: Put) -> None:
    """A test of one function.

    Raises:
        TraceFileError: The recording is of another tool: replay reads traces of ours.
    """
    index = selection.index
    if selection.format not in REPLAYED:
        message = "a test can only play an accord-trace: convert it with --as accord-trace -o FILE, and export that"
        raise TraceFileError(message)
    word = re.sub(r"[^a-z0-9]+", "_", selection.name.lower().removesuffix(".gz").removesuffix(".jsonl")).strip("_")
    count = sum(_is_question(index.method(row)) and index.kind(row) == RecordKind.REQUEST for row in selection.rows)
    permission = _QUESTIONS.format(count=count) if count else ""
    # A name whose bytes are not UTF-8 has half characters, which no source file may have.
    title = exact(selection.name).replace("\\", "/").replace('"', "'")
    put(_TEMPLATE.format(name=selection.name, title=title, word=word or "a_trace", permission=permission))


def _is_question(method: str) -> bool:
    return method.endswith("/request_permission")
