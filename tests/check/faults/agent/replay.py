"""Agents that are wrong about sessions from before: loaded or resumed, with or without what was said in them."""

from __future__ import annotations

from typing import Any

from tests.check.faults.change import NOBODY, after, before, edited, gives, having, instead, refuses, skips, takes
from tests.check.faults.fault import JUNE, V1, V2, breaks, full, plain
from tests.check.faults.reference.agent_v1_full import FullV1
from tests.check.faults.reference.agent_v2 import PlainV2
from tests.check.faults.reference.agent_v2_sessions import OpenSession
from tests.check.faults.reference.raw import INTERNAL_ERROR, INVALID_PARAMS, NO_METHOD, Refused
from tests.check.faults.reference.store import Session

__all__: list[str] = []


def _is(*kinds: str) -> Any:
    return lambda update, *_: update["sessionUpdate"] in kinds


def _forgets(*kinds: str) -> Any:
    """Updates of some kinds are not part of the replay."""
    return edited(lambda updates, _: [update for update in updates if update["sessionUpdate"] not in kinds])


# --- in v1 and June

full("ACP-LOAD-001", V1 + JUNE, "LoadFails")(on_session_load=refuses(INTERNAL_ERROR))
full("ACP-LOAD-003", V1 + JUNE, "LoadIsNull")(load_result=gives(None))
full("ACCORD-LOAD-001", V1 + JUNE, "ForgetsTheUser")(replayed=_forgets("user_message_chunk", "user_message"))
full("ACCORD-LOAD-002", V1 + JUNE, "ForgetsItself")(replayed=_forgets("agent_message_chunk", "agent_message"))
full("ACCORD-LOAD-003", V1 + JUNE, "LoadsNothing")(on_session_load=instead(lambda *_: {}, having(sessionId=NOBODY)))
full("ACCORD-JUNE-MESSAGE-003", JUNE, "ReplaysOnePrompt")(
    replayed=edited(
        lambda updates, _: [
            {**update, "messageId": "message-of-the-user"} if _is("user_message")(update) else update
            for update in updates
        ]
    )
)


@breaks("ACP-LOAD-002", "v1", "v2_june")
class ReplaysTooLate(FullV1):
    def replay(self, session: Session) -> None:
        """It comes later."""

    async def after_answer(self, id_: Any, method: str, params: dict[str, Any], result: Any) -> None:
        await super().after_answer(id_, method, params, result)
        if method == "session/load":
            super().replay(self.sessions[params["sessionId"]])


def _tells_again(peer: Any, session: Session) -> None:
    for update in session.history:
        if update["sessionUpdate"] in {"user_message", "user_message_chunk", "agent_message_chunk"}:
            peer.update(session, update["sessionUpdate"], messageId=peer.message_id(), content=update["content"])


full("ACP-RESUME-001", V1 + JUNE, "ResumeWantsServers")(
    on_session_resume=refuses(INVALID_PARAMS, lambda _, params: "mcpServers" not in params)
)
full("ACP-RESUME-002", V1 + JUNE, "ResumeReplays")(resume_result=before(_tells_again))
full("ACCORD-RESUME-001", V1 + JUNE, "ResumesNothing")(
    on_session_resume=instead(lambda *_: {}, having(sessionId=NOBODY))
)

# --- in v2


async def _refuses_what_it_has(peer: Any, _: Any, params: dict[str, Any]) -> None:
    peer.find_kept(params)
    raise Refused(NO_METHOD, "Method not found")


def _lives_elsewhere(peer: Any, params: dict[str, Any]) -> bool:
    return bool(peer.find_kept(params).cwd != params.get("cwd"))


def _replays(edit: Any, *kinds: str) -> Any:
    """Entries of some kinds are replayed otherwise: `edit` gives the updates from those of the reference."""
    return lambda _, old, entry: edit(old(entry)) if entry["sessionUpdate"] in kinds else old(entry)


def _in_pieces(updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    piece = {"terminalId": updates[0]["terminalId"], "data": "Cg=="}
    return [*updates, {"sessionUpdate": "terminal_output_chunk", **piece}]


def _notices_again(peer: Any, session: OpenSession) -> None:
    peer.update(session.id, {"sessionUpdate": "notice", "severity": "info", "title": "Almost done"})


plain("ACP-RESUME-201", V2, "CannotResume")(on_session_resume=_refuses_what_it_has)
plain("ACP-RESUME-203", V2, "ReplaysUnasked")(wants_replay=lambda *_: True)
plain("ACP-RESUME-204", V2, "RenamesMessagesInItsReplay")(
    replayed=lambda peer, old, entry: (
        [{**entry, "messageId": peer.new_message_id()}] if _is("user_message")(entry) else old(entry)
    )
)
full("ACP-RESUME-205", V2, "ReplaysChunksAlone")(replayed=_replays(lambda updates: updates[1:], "agent_message"))
plain("ACCORD-RESUME-201", V2, "ResumesWithoutAState")(tell_state=skips())
plain("ACCORD-RESUME-203", V2, "ReplaysFromYesterday")(check_cursor=skips(lambda _, cursor: isinstance(cursor, dict)))
plain("ACCORD-RESUME-204", V2, "ReadsWordsAsCursors")(check_cursor=skips(lambda _, cursor: isinstance(cursor, str)))
full("ACCORD-RESUME-205", V2, "ReplaysNotices")(replay=after(_notices_again))
plain("ACCORD-RESUME-206", V2, "RemembersOtherWords")(
    replayed=takes(
        lambda entry: {**entry, "content": [{"type": "text", "text": "I forgot"}]},
        lambda _, entry: _is("agent_message")(entry),
    )
)
full("ACCORD-RESUME-207", V2, "ReplaysTerminalsInPieces")(replayed=_replays(_in_pieces, "terminal_update"))
plain("ACCORD-RESUME-208", V2, "ResumesOnlyAtHome", note="-32602")(
    on_session_resume=refuses(INVALID_PARAMS, _lives_elsewhere)
)


@breaks("ACP-RESUME-202", "v2")
class RepliesBeforeItsReplay(PlainV2):
    def replay(self, session: OpenSession) -> None:
        """It comes later."""

    async def after_answer(self, _id: Any, method: str, params: dict[str, Any], _result: Any) -> None:
        if method == "session/resume" and self.wants_replay(params):
            super().replay(self.sessions[params["sessionId"]])


@breaks("ACCORD-RESUME-202", "v2")
class TellsTheStateBeforeTheHistory(PlainV2):
    is_told = False

    def replay(self, session: OpenSession) -> None:
        self.tell_state(session)
        self.is_told = True
        super().replay(session)

    def tell_state(self, session: OpenSession) -> None:
        if not self.is_told:
            super().tell_state(session)
        self.is_told = False
