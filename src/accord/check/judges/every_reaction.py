"""What is only recorded: how an agent takes lines that are no message, and prompts for sessions that are not there."""

from __future__ import annotations

from typing import Any

from accord.check.case import Case, Unseen
from accord.check.entry import read_json
from accord.check.judge import judge

__all__ = ["reaction"]


def reaction(case: Case, name: str) -> str:
    """What an agent says to a bad line, in a few words.

    Raises:
        Unseen: An earlier line had ended it.
    """
    step = case.step("bad_lines")
    if name not in step["reactions"]:
        raise Unseen(f"{step['ended']} had ended the connection before")
    said = [_words(read_json(line.encode())) for line in step["reactions"][name]]
    after = "nothing is answered after it" if step["ended"] == name else "the connection goes on"
    return f"{name}: {', '.join(said) or 'silence'}; {after}"


def _words(message: Any) -> str:
    if not isinstance(message, dict):
        return "a line that is no message"
    error = message.get("error")
    if isinstance(error, dict):
        return f"error {error.get('code')}" + (" with an id" if message.get("id") is not None else "")
    return f"a message {message['method']}" if "method" in message else "a result"


def _reactions(case: Case, *names: str) -> str:
    # Where an earlier line had ended the connection, that is said by the first of them.
    seen = [name for name in names if name in case.step("bad_lines")["reactions"]]
    return "; ".join(reaction(case, name) for name in seen or names[:1])


@judge("ACP-INFO-PARSE-001", steps=("bad_lines",))
def what_happens_after_a_line_that_is_no_json(case: Case) -> str:
    return _reactions(case, "no JSON", "half an object", "no UTF-8")


@judge("ACP-INFO-INVALIDREQ-001", steps=("bad_lines",))
def what_happens_after_json_that_is_no_json_rpc(case: Case) -> str:
    return _reactions(case, "no JSON-RPC", "a number", "no version")


@judge("ACP-INFO-UNKNOWNSESSION-001", steps=("unknown_session",))
def how_a_prompt_for_an_unknown_session_is_answered(case: Case) -> str:
    step = case.step("unknown_session")
    answers = step.answers(step["prompt"])
    return f"it is answered with {_words(answers[0][1])}" if answers else "it is not answered"
