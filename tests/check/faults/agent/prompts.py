"""Agents that are wrong about prompts: what they take, how they answer, when their turns end."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.check.faults.change import NOBODY, after, before, edited, gives, having, instead, refuses, sets, skips
from tests.check.faults.fault import JUNE, V1, V2, breaks, full, plain
from tests.check.faults.reference.agent_v1_full import FullV1
from tests.check.faults.reference.agent_v2 import PlainV2
from tests.check.faults.reference.agent_v2_sessions import HeldPrompt, OpenSession
from tests.check.faults.reference.raw import INTERNAL_ERROR, INVALID_PARAMS, Refused
from tests.check.faults.reference.store import Session

__all__: list[str] = []

# --- what is taken

plain("ACP-PROMPT-003", V1 + JUNE, "NoLinks")(accepts=frozenset({"text"}))
for _id, _kind, _name, _name_v2 in (
    ("ACP-PROMPTCAP-001", "image", "NoImages", "RefusesImages"),
    ("ACP-PROMPTCAP-002", "audio", "NoRecordings", "RefusesRecordings"),
    ("ACP-PROMPTCAP-003", "resource", "NoResources", "RefusesResources"),
    ("ACP-PROMPT-003", "resource_link", "", "RefusesLinks"),
):
    if _name:
        full(_id, V1 + JUNE, _name)(accepts=FullV1.accepts - {_kind})
    full(_id, V2, _name_v2)(check_block=refuses(INVALID_PARAMS, having(type=_kind)))
plain("ACP-META-001", V1 + JUNE, "NoMetadata")(blocks_of=refuses(INVALID_PARAMS, lambda _, params: "_meta" in params))
plain("ACP-META-001", V2, "RefusesMetadata")(
    take_prompt=refuses(INVALID_PARAMS, lambda _, __, params: "_meta" in params)
)
plain("ACCORD-VALID-004", V1 + JUNE, "MissingPromptIsInternal")(
    blocks_of=refuses(INTERNAL_ERROR, lambda _, params: not isinstance(params.get("prompt"), list))
)
plain("ACCORD-VALID-005", V1 + JUNE, "AnySessionWillDo")(
    on_session_prompt=instead(lambda peer, _: peer.prompt_result("end_turn"), having(sessionId=NOBODY))
)
plain("ACCORD-PROMPT-201", V2, "ReadsPigeons")(
    check_block=skips(lambda _, block: str(block.get("type")).startswith("_"))
)
plain("ACCORD-PROMPT-202", V2, "ReadsWhatItDoesNotAdvertise")(
    check_block=skips(lambda _, block: block.get("type") in {"image", "audio", "resource"})
)
plain("ACCORD-PROMPT-203", V2, "ReadsBlocksWithoutText")(
    check_block=before(lambda _, block: block.setdefault("text", ""), having(type="text"))
)
plain("ACCORD-PROMPT-208", V2, "InsertsNothing", note="inserted")(check_prompt=skips(lambda _, blocks: blocks == []))
plain("ACCORD-PROMPT-209", V2, "WantsGoodAnnotations")(
    check_block=refuses(
        INVALID_PARAMS,
        lambda _, block: not isinstance((block.get("annotations") or {}).get("priority", 0), int | float),
    )
)


@breaks("ACCORD-PROMPT-204", "v2")
class ShowsWhatItRefuses(PlainV2):
    def take_prompt(self, request: Any, params: Any) -> None:
        try:
            super().take_prompt(request, params)
        except Refused as refused:
            if refused.code == INVALID_PARAMS and params["prompt"]:
                content = [{"type": "text", "text": "?"}]
                update = {"sessionUpdate": "user_message", "messageId": self.new_message_id(), "content": content}
                self.update(params["sessionId"], update)
            raise


# --- how they are answered

plain("ACP-PROMPT-001", V1 + JUNE, "UnknownStopReason")(stop_reason=gives("done"))
plain("ACP-META-201", JUNE, "MetadataIsText")(prompt_result=sets(_meta="none"))
plain("ACP-PROMPT-201", V2, "AnswersWithAStopReason")(
    receipt=lambda peer, _, request, id_: peer.answer(request, {"messageId": id_, "stopReason": "end_turn"})
)


def _shows_another_id(peer: Any, _: Any, session: OpenSession, message_id: str, prompt: HeldPrompt) -> None:
    message = {"sessionUpdate": "user_message", "content": prompt.blocks}
    session.kept.keep({**message, "messageId": message_id})
    peer.update(session.id, {**message, "messageId": peer.new_message_id()})


plain("ACP-PROMPT-203", V2, "ShowsTheMessageUnderAnotherId")(echo=_shows_another_id)


@breaks("ACCORD-PROMPT-205", "v2")
class AnswersWhenItsWorkIsDone(PlainV2):
    def __init__(self) -> None:
        super().__init__()
        self.receipts: dict[Any, str] = {}

    def receipt(self, request: Any, message_id: str) -> None:
        self.receipts[request] = message_id

    def end(self, session: OpenSession, work: asyncio.Task[str]) -> None:
        for request, message_id in self.receipts.items():
            super().receipt(request, message_id)
        self.receipts.clear()
        super().end(session, work)


def _takes_it_at_once(peer: Any, session: OpenSession, prompt: HeldPrompt) -> None:
    message_id = peer.new_message_id()
    peer.echo(session, message_id, prompt)
    peer.receipt(prompt.request, message_id)


plain("ACCORD-PROMPT-206", V2, "ServesTheLastFirst")(end=before(lambda _, session, __: session.held.reverse()))
plain("ACP-INFO-CONCURRENT-201", V2, "TakesASecondPromptAtOnce", note="accepted")(
    place_prompt=instead(
        _takes_it_at_once, lambda _, session, __: session.work is not None and not session.work.cancelling()
    )
)

# --- turns


def _says_it_for_another(_: Any, old: Any, session: Session, words: str) -> None:
    old(session, words)
    old(Session(session.cwd, id="somebody-else"), words)


def _says_more(peer: Any, _: Any, __: str, params: dict[str, Any], ___: Any) -> None:
    content = {"type": "text", "text": "One more thing"}
    peer.update(peer.find(params), "agent_message_chunk", messageId=peer.message_id(), content=content)


plain("ACP-PROMPT-002", V1 + JUNE, "UpdatesOfAnotherSession")(show_message=_says_it_for_another)
plain("ACP-PROMPT-205", V2, "CountsInWords")(
    reply=after(
        lambda peer, session, _: peer.update(
            session.id, {"sessionUpdate": "usage_update", "used": "many", "size": 1000}
        )
    )
)
plain("ACCORD-ORDER-001", V1 + JUNE, "OneMoreThing")(
    after_answer=after(
        _says_more,
        lambda _, __, method, ___, result: method == "session/prompt" and result.get("stopReason") == "end_turn",
    )
)
plain("ACP-STATE-201", V2, "NeverRuns")(tell_running=lambda _, __, session: setattr(session, "state", "running"))
plain("ACP-STATE-202", V2, "NeverRests")(tell_idle=lambda _, __, session, ___: setattr(session, "state", "idle"))
plain("ACP-STATE-203", V2, "EndsWithAWordOfItsOwn")(stop_reason=gives("satisfied"))
plain("ACCORD-STATE-204", V2, "FailsWithoutAReason")(stop_reason=gives("error"))
plain("ACCORD-STATE-205", V2, "RestsWithoutAReason")(
    tell_idle=instead(lambda peer, session, _: peer.enter(session, "idle"), lambda _, __, reason: reason == "end_turn")
)


# --- what goes on behind a turn

full("ACCORD-STATE-201", V2, "TellsOfItsBackgroundSometimes")(
    state_update=edited(lambda update, session: {**update, "background": None} if session.state == "idle" else update)
)
full("ACCORD-STATE-202", V2, "ListsWhatNobodyKnows")(
    state_update=sets(background=[{"type": "terminal", "terminalId": "never-told"}])
)
full("ACCORD-STATE-206", V2, "ListsItsBackgroundTwice")(
    state_update=edited(lambda update, _: {**update, "background": [*update["background"], *update["background"]]})
)


def _drops_its_background(peer: Any, _: Any, session: OpenSession) -> None:
    if session.background:
        session.background.clear()
        peer.tell_state(session)


full("ACCORD-STATE-203", V2, "DropsWhatHasNotEnded")(finish_background=_drops_its_background)
