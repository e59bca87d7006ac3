"""Content blocks of prompts: those that were advertised, and those that an agent has to refuse."""

from __future__ import annotations

from typing import Any

from accord.check.agent.conversation import AgentConversation, can, step, text
from accord.check.agent.exchange import advertises, answers_received, settle
from accord.check.agent.prompts import ECHOES, accepted_message_id
from accord.check.agent.queries import RecordedRequest, must_be_refused, our_requests_in
from accord.check.agent.turns import idle_behind, prompts_of
from accord.check.engine.evidence import INVALID_PARAMS, Evidence, Inconclusive, StepFailed, Violation, skip_unless
from accord.check.engine.judging import Notes, judge, judge_rows, request_succeeds
from accord.check.rule import JUNE_V2, SESSIONS, V1, V2, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-PROMPT-201", "--C", "prompt-turn", gate="session",
        says="A block of a type that the agent does not know is refused with -32602"),
    RuleRow("ACCORD-PROMPT-202", "--C", "prompt-turn", gate="session",
        says="A block that the agent does not advertise is refused with -32602"),
    RuleRow("ACCORD-PROMPT-203", "--C", "extensibility", gate="session",
        says="A known block with a bad payload is refused with -32602"),
    RuleRow("ACCORD-PROMPT-204", "--C", "prompt-turn", gate="session",
        says="A prompt that was refused never appears as a message of the user"),
    RuleRow("ACCORD-PROMPT-208", "--I", "#PromptRequest", "What comes of an empty prompt", gate="session"),
    RuleRow("ACCORD-PROMPT-209", "--A", "#TextContent", gate="session",
        says="An optional field of a block that does not fit counts as absent"),
    RuleRow("ACP-PROMPT-003", "AAA", "content", gate="session", says=(
        "A prompt may hold a link beside its text",
        "A prompt may hold a link beside its text",
        "A prompt may hold a link beside its text, and its turn ends",
    )),
    RuleRow("ACP-PROMPTCAP-001", "CCC", ("content", "prompt-turn", "prompt-turn"), gate="image",
        says="A prompt with an image runs to its end"),
    RuleRow("ACP-PROMPTCAP-002", "CCC", ("content", "prompt-turn", "prompt-turn"), gate="audio",
        says="A prompt with a recording runs to its end"),
    RuleRow("ACP-PROMPTCAP-003", "CCC", ("content", "prompt-turn", "prompt-turn"), gate="embeddedContext",
        says="A prompt with an embedded resource runs to its end"),
)
# fmt: on


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="

BLOCKS: dict[str, tuple[str, dict[str, Any]]] = {
    "image": ("image", {"type": "image", "mimeType": "image/png", "data": PIXEL}),
    "audio": ("audio", {"type": "audio", "mimeType": "audio/wav", "data": SILENCE}),
    "resource": (
        "embeddedContext",
        {"type": "resource", "resource": {"uri": "file:///notes.txt", "mimeType": "text/plain", "text": "milk"}},
    ),
}
"""By note: the capability that has to be advertised, and the block."""

_BLOCKS: dict[str, dict[str, Any]] = {
    "image": {"type": "image", "data": PIXEL, "mimeType": "image/png"},
    "audio": {"type": "audio", "data": "UklGRiQAAABXQVZF", "mimeType": "audio/wav"},
    "embeddedContext": {"type": "resource", "resource": {"uri": "file:///notes.txt", "text": "hello"}},
}


@step(gate=SESSIONS)
async def prompt_blocks(agent: AgentConversation) -> Notes:
    """A turn for each advertised kind of block; the others have no note."""
    session = await agent.new()
    notes: Notes = {"session": session}
    for note, (capability, block) in BLOCKS.items():
        if can(agent, capability):
            notes[note] = await agent.turn(session, agent.options.prompt, block)
    return notes


@step("bare", editions=V2, gate=SESSIONS)
async def v2_refused_prompts(agent: AgentConversation) -> Notes:
    """Prompts that no agent can read; an empty one comes last."""
    session = await agent.new()
    since = agent.now
    block = text(agent.options.prompt)
    prompts: dict[str, list[Any]] = {"pigeons": [block, {"type": "_accord.check/pigeons"}], "bad": [{"type": "text"}]}
    for name, block in _BLOCKS.items():
        if not advertises(agent, f"prompt.{name}"):
            prompts[name] = [block, block]
    ids = {}
    for name, blocks in {**prompts, "empty": []}.items():
        place = agent.now
        ids[name] = agent.ask("session/prompt", {"sessionId": session, "prompt": blocks})
        answers = [each for each in await answers_received(agent, ids[name]) if "result" in each]
        if answers:
            await settle(agent, session, place)
    return {"session": session, "since": since, "ids": ids}


@step("bare", editions=V2, gate=SESSIONS)
async def v2_lenient_prompt(agent: AgentConversation) -> Notes:
    """A block with malformed annotations."""
    session = await agent.new()
    since = agent.now
    block = {**text(agent.options.prompt), "annotations": {"priority": "high", "audience": 7}}
    prompt = agent.prompt(session, block)
    if any("result" in answer for answer in await answers_received(agent, prompt)):
        await settle(agent, session, since)
    return {"prompt": prompt}


def _runs(evidence: Evidence, note: str) -> None:
    run = evidence.step("prompt_blocks")
    if note not in run.notes:
        raise Inconclusive("not advertised")
    run.result(run[note])


def _refused_prompts(evidence: Evidence, *names: str) -> None:
    run = evidence.step("v2_refused_prompts")
    asked = [run["ids"][name] for name in names if name in run["ids"]]
    skip_unless(asked, "every kind of block is advertised")
    for id_ in asked:
        must_be_refused(run, id_, INVALID_PARAMS)


@judge("ACCORD-PROMPT-204", steps=("v2_refused_prompts",))
def a_refused_prompt_has_no_message(evidence: Evidence) -> None:
    run = evidence.step("v2_refused_prompts")
    # An unanswered prompt was not refused either; another rule reports that.
    answers = [answer for id_ in run["ids"].values() for _, answer in run.answers(id_)]
    skip_unless([answer for answer in answers if "error" in answer], "no prompt was refused")
    inserted = [accepted_message_id(answer) for answer in answers]
    for entry, update in run.updates(run["session"], *ECHOES, since=run["since"]):
        if update.get("messageId") not in inserted:
            raise Violation("a message of the user was sent, although every prompt was refused", entry)


@judge("ACCORD-PROMPT-208", steps=("v2_refused_prompts",))
def an_empty_prompt(evidence: Evidence) -> str:
    run = evidence.step("v2_refused_prompts")
    error = run.answer(run["ids"]["empty"]).get("error")
    return f"error {error.get('code')}" if isinstance(error, dict) else "it was inserted"


def _ended(evidence: Evidence, prompt: RecordedRequest) -> None:
    """A prompt was accepted, and its turn came to an end."""
    if prompt.result is None:
        raise prompt.violation("the prompt was not accepted")
    if evidence.edition == "v2" and idle_behind(prompt) is None:
        raise StepFailed("its turn did not become idle", "ACP-STATE-202", prompt.entry)


@judge("ACP-PROMPT-003", steps=("turns",), editions=JUNE_V2, name="a_prompt_may_hold_a_link")
def a_prompt_may_hold_a_link_in_v2(evidence: Evidence) -> None:
    prompts = prompts_of(evidence, "turns")
    if len(prompts) <= 1:
        evidence.step("turns")
        raise Inconclusive("it was not prompted")
    _ended(evidence, prompts[1])


def _block(evidence: Evidence, type_: str) -> None:
    run = evidence.begun("prompt_blocks")
    for prompt in our_requests_in(run, "session/prompt"):
        blocks = prompt.params.get("prompt", [])
        if any(block.get("type") == type_ for block in blocks):
            return _ended(evidence, prompt)
    evidence.step("prompt_blocks")
    raise Inconclusive("there was no such prompt")


judge_rows(request_succeeds, ("ACP-PROMPT-003", "a_prompt_may_hold_a_link", "turns", "link"), editions=V1)
judge_rows(
    _refused_prompts,
    ("ACCORD-PROMPT-201", "an_unknown_block_is_refused", "pigeons"),
    ("ACCORD-PROMPT-202", "a_block_that_is_not_advertised_is_refused", "image", "audio", "embeddedContext"),
    ("ACCORD-PROMPT-203", "a_bad_block_is_refused", "bad"),
    steps=("v2_refused_prompts",),
)
judge_rows(request_succeeds, ("ACCORD-PROMPT-209", "bad_annotations_count_as_absent", "v2_lenient_prompt", "prompt"))
judge_rows(
    _runs,
    ("ACP-PROMPTCAP-001", "a_prompt_with_image_ends", "image"),
    ("ACP-PROMPTCAP-002", "a_prompt_with_audio_ends", "audio"),
    ("ACP-PROMPTCAP-003", "a_prompt_with_resource_ends", "resource"),
    steps=("prompt_blocks",),
    editions=V1,
)
judge_rows(
    _block,
    ("ACP-PROMPTCAP-001", "a_prompt_with_an_image_ends", "image"),
    ("ACP-PROMPTCAP-002", "a_prompt_with_a_recording_ends", "audio"),
    ("ACP-PROMPTCAP-003", "a_prompt_with_an_embedded_resource_ends", "resource"),
    steps=("prompt_blocks",),
    editions=JUNE_V2,
)
