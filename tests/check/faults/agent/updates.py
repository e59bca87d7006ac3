"""Agents that are wrong in what else they tell: messages, thoughts, plans, usage, notices, compactions, metadata."""

from __future__ import annotations

from typing import Any

from tests.check.faults.change import after, before, edited, gives, instead
from tests.check.faults.fault import JUNE, V1, V2, breaks, full, plain
from tests.check.faults.reference.agent_v1_full import FullV1
from tests.check.faults.reference.store import Session

__all__: list[str] = []


def _without(name: str) -> Any:
    """Updates lack a field."""

    def change(_: Any, old: Any, session: Any, kind: str, /, **fields: Any) -> None:
        old(session, kind, **{key: value for key, value in fields.items() if key != name})

    return change


def _update(kind: str, **fields: Any) -> Any:
    """One more update, which is not kept."""
    return lambda peer, session, *_: peer.update(session.id, {"sessionUpdate": kind, **fields})


# --- messages and thoughts


def _one_message(peer: Any, session: Any, words: str) -> None:
    content = {"type": "text", "text": words}
    peer.show(session, "agent_message_chunk", messageId="message-of-the-agent", content=content)


def _two_at_once(peer: Any, session: Any, words: str) -> None:
    ids = (peer.message_id(), peer.message_id())
    for message_id in (*ids, *ids):
        peer.show(session, "agent_message_chunk", messageId=message_id, content={"type": "text", "text": words})


def _says_its_thoughts(peer: Any, session: Any, words: str) -> None:
    message_id, content = peer.message_id(), {"type": "text", "text": words}
    peer.show(session, "agent_thought_chunk", messageId=message_id, content=content)
    peer.show(session, "agent_message_chunk", messageId=message_id, content=content)


def _one_answer(peer: Any, session: Any, *words: str) -> None:
    for each in words:
        content = {"type": "text", "text": each}
        peer.tell(session, "agent_message_chunk", messageId=f"answer-{session.id}", content=content)


def _chunks_without_content(_: Any, old: Any, session: Any, kind: str, /, **fields: Any) -> None:
    if kind == "tool_call_content_chunk":
        fields.pop("content", None)
    old(session, kind, **fields)


plain("ACCORD-MESSAGE-001", V1, "OneMessageForAll")(message_id=gives("message"))
plain("ACCORD-MESSAGE-001", JUNE, "OneMessageOfTheAgent")(show_message=instead(_one_message))
full("ACCORD-JUNE-MESSAGE-001", JUNE, "ThoughtsAreMessages")(show_thought=instead(_says_its_thoughts))
plain("ACCORD-JUNE-MESSAGE-002", JUNE, "MessagesInTurn")(show_message=instead(_two_at_once))
plain("ACCORD-MESSAGE-201", V2, "HasOneMessage")(say_words=instead(_one_answer))
plain("ACP-PATCH-201", JUNE, "MessagesWithoutIds")(update=_without("messageId"))
full("ACP-PATCH-201", V2, "ThinksWithoutAnId")(
    think=instead(_update("agent_thought", content=[{"type": "text", "text": "Let me see"}]))
)
plain("ACP-PATCH-203", V2, "HasOneIdForAllPrompts")(new_prompt_id=gives("message"))
full("ACP-PATCH-204", JUNE, "ChunksWithoutContent")(update=_chunks_without_content)

# --- updates that there are not

plain("ACP-ENUM-202", JUNE, "UpdateOfItsOwn")(
    show_message=before(lambda peer, session, _: peer.update(session, "mood", mood="good"))
)
full("ACP-ENUM-202", V2, "TellsAnUpdateOfItsOwn")(tell_about=after(_update("weather_update", sky="blue")))
full("ACCORD-ENUM-201", V2, "HasFatalNotices")(
    tell_about=after(lambda peer, session: peer.tell(session, "notice", severity="fatal", title="All is lost"))
)
full("ACCORD-NOTICE-001", V1, "NoticesForAll")(
    show_extras=after(
        lambda peer, session: peer.update(session, "notice", severity="info", title="Almost done"),
        lambda peer, _: not peer.offers("session", "notices"),
    )
)

# --- plans


def _plan_as_in_november(peer: Any, session: Any, status: str) -> None:
    plan = {"type": "items", "planId": "plan-1", "entries": peer.plan_entries(status)}
    peer.show(session, "plan_update", plan=plan)


def _nameless_plan(peer: Any, session: Any, status: str) -> None:
    entries = [{"content": "Edit the notes", "priority": "high", "status": status}]
    peer.update(session.id, {"sessionUpdate": "plan_update", "plan": {"type": "items", "entries": entries}})


full("ACCORD-PLAN-001", V1 + JUNE, "PlansGetShorter", note="dropped entries")(
    plan_entries=edited(lambda entries, status: entries if status == "in_progress" else entries[1:])
)
full("ACCORD-JUNE-PLAN-001", JUNE, "PlansAsInNovember")(show_plan=instead(_plan_as_in_november))
full("ACP-PATCH-205", V2, "HasANamelessPlan")(plan=instead(_nameless_plan))

# --- usage


@breaks("ACCORD-USAGE-001", "v1", "v2_june")
class CostsFall(FullV1):
    """Tells what a turn has cost, and not the session."""

    cents = 100

    def show_usage(self, session: Session) -> None:
        self.cents -= 1
        cost = {"amount": self.cents / 100, "currency": "USD"}
        self.update(session, "usage_update", used=10, size=1000, cost=cost)


def _in_words(peer: Any, session: Any) -> None:
    cost = {"amount": 0.25, "currency": "dollars"}
    peer.update(session, "usage_update", used=10, size=1000, cost=cost)


full("ACCORD-USAGE-002", V1 + JUNE, "CostsInWords")(show_usage=instead(_in_words))

# --- compactions

_SUMMARY = {"type": "text", "text": "It was about notes"}


def _compacts(*ends: tuple[str, dict[str, Any]]) -> Any:
    """Compactions end in another way: by these updates."""

    def compact(peer: Any, session: Any) -> None:
        named = {"compactionId": f"compaction-{peer.new_message_id()}"}
        for kind, fields in (("compaction_update", {"status": "in_progress"}), *ends):
            peer.tell(session, kind, **named, **fields)

    return instead(compact)


full("ACCORD-COMPACT-001", V1, "CompactionsForAll")(
    show_extras=after(
        lambda peer, session: peer.show_compaction(session, "compaction-1"),
        lambda peer, _: not peer.offers("session", "compaction"),
    )
)
full("ACCORD-COMPACT-201", V2, "SumsUpTooLate")(
    compact=_compacts(
        ("compaction_update", {"status": "completed", "summary": [_SUMMARY]}),
        ("compaction_summary_chunk", {"content": _SUMMARY}),
    )
)
full("ACCORD-COMPACT-202", V2, "CompactsToNothing")(compact=_compacts(("compaction_update", {"status": "completed"})))
full("ACCORD-COMPACT-203", V2, "FailsToCompactWithoutAReason")(
    compact=_compacts(("compaction_update", {"status": "failed"}))
)

# --- metadata

plain("ACP-META-201", V2, "HasAListForMetadata")(on_session_list=edited(lambda result, _: {**result, "_meta": []}))
