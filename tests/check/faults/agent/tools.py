"""Agents that are wrong about tool calls: their order, their states, their paths, their diffs."""

from __future__ import annotations

from typing import Any

from tests.check.faults.change import after, before, edited, ends, lacks, repeats, sets, skips, told
from tests.check.faults.fault import JUNE, V1, V2, full
from tests.check.faults.reference.raw import INTERNAL_ERROR, Refused

__all__: list[str] = []

# --- in v1 and June


def _announces_later(peer: Any, session: Any, tool: str) -> None:
    content = {"type": "content", "content": {"type": "text", "text": "soon"}}
    peer.update(session, "tool_call_content_chunk", toolCallId=tool, content=content)


def _goes_back(peer: Any, old: Any, session: Any, tool: str, status: str) -> None:
    old(session, tool, status)
    peer.update_tool(session, tool, status="in_progress")
    old(session, tool, status)


def _names_it_later(peer: Any, _: Any, session: Any, tool: str) -> None:
    fields = peer.tool_fields(session)
    title = fields.pop("title")
    peer.update_tool(session, tool, **fields)
    peer.update_tool(session, tool, title=title)


def _or_fails(is_done: bool, *_: Any) -> bool:  # noqa: FBT001 - it is what the step gives
    if not is_done:
        raise Refused(INTERNAL_ERROR, "Internal error")
    return True


full("ACCORD-ORDER-002", V1, "UpdatesBeforeTools")(
    open_tool=before(lambda peer, session, tool: peer.update_tool(session, tool, status="pending"))
)
full("ACCORD-ORDER-002", JUNE, "ContentBeforeTools")(open_tool=before(_announces_later))
full("ACCORD-ORDER-003", V1, "AnnouncesTwice")(open_tool=repeats())
full("ACCORD-TOOL-001", V1 + JUNE, "StatusGoesBack")(close_tool=_goes_back)
full("ACCORD-TOOL-002", V1 + JUNE, "LeavesToolsOpen")(
    close_tool=skips(lambda _, __, ___, status: status == "completed")
)
full("ACCORD-TOOL-003", V1, "FailsWithItsClient")(use_files=edited(_or_fails))
full("ACCORD-PATH-001", V1 + JUNE, "RelativeLocations")(tool_fields=sets(locations=[{"path": "notes.txt", "line": 1}]))
full("ACCORD-PATH-002", V1, "LinesFromZero")(
    tool_fields=edited(lambda fields, _: {**fields, "locations": [{**fields["locations"][0], "line": 0}]})
)
full("ACCORD-DIFF-001", V1 + JUNE, "RelativeDiffs")(
    tool_content=edited(lambda content, _: [{**content[0], "path": "notes.txt"}, *content[1:]])
)
full("ACCORD-JUNE-TOOL-001", JUNE, "TitlesComeLater")(open_tool=_names_it_later)
full("ACP-ENUM-201", JUNE, "KindOfItsOwn")(tool_fields=sets(kind="embroider"))

# --- in v2


def _begins_again(peer: Any, session: Any) -> None:
    calls = [each for each in session.kept.history() if each["sessionUpdate"] == "tool_call_update"]
    for status in ("in_progress", calls[-1]["status"]):
        peer.tell(session, "tool_call_update", toolCallId=calls[-1]["toolCallId"], status=status)


def _offers_still(kind: str) -> Any:
    """What has ended is not said to have lost its capabilities."""

    def change(_: Any, old: Any, session: Any, kind_told: str, /, **fields: Any) -> None:
        if kind_told == kind and fields.get("capabilities", {}) is None:
            del fields["capabilities"]
        old(session, kind_told, **fields)

    return change


def _patched(*lines: str) -> Any:
    """The text of its patches is another one: `{}` is the file."""

    def edit(diff: dict[str, Any], _: Any) -> dict[str, Any]:
        text = "\n".join(lines).replace("{}", diff["changes"][0]["path"])
        return {**diff, "patch": {"format": "git_patch", "text": f"{text}\n@@ -1 +1 @@\n-old\n+new\n"}}

    return edited(edit)


def _hides_its_call(peer: Any, old: Any, session: Any, id_: str, content: dict[str, Any]) -> None:
    if content["type"] == "diff":
        peer.update(session.id, {"sessionUpdate": "tool_call_content_chunk", "content": content})
    else:
        old(session, id_, content)


full("ACP-PATCH-204", V2, "DoesNotNameItsToolCall")(tell_content=_hides_its_call)
full("ACP-PATCH-208", V2, "BeginsAToolCallWithoutATitle")(tool=lacks("title"))
full("ACP-ENUM-201", V2, "HasAToolOfItsOwnKind")(tool=sets(kind="paint"))
full("ACCORD-TOOL-201", V2, "WorksOnRelativePaths")(tool=sets(locations=[{"path": "notes.txt"}]))
full("ACCORD-TOOL-202", V2, "ShowsNoPatch")(diff=sets(patch=None))
full("ACCORD-TOOL-203", V2, "ShowsPatchesLikeGit")(diff=_patched("diff --git a{} b{}", "--- a{}", "+++ b{}"))
full("ACCORD-TOOL-203", V2, "ShowsPatchesLikeMail")(
    diff=_patched("From: me", "Subject: [PATCH] notes", "", "diff --git {} {}", "--- {}", "+++ {}")
)
full("ACCORD-TOOL-204", V2, "PatchesAnotherFile")(diff=_patched("diff --git {} {}.old", "--- {}", "+++ {}.old"))
full("ACCORD-TOOL-205", V2, "OffersToCancelEndedToolCalls")(tell=_offers_still("tool_call_update"))
full("ACCORD-TERM-202", V2, "OffersToCancelExitedTerminals")(tell=_offers_still("terminal_update"))
full("ACCORD-TOOL-206", V2, "NeverCompletesAToolCall")(tell=skips(told("tool_call_update", status="completed")))
full("ACCORD-TOOL-207", V2, "BeginsToolCallsAgain")(use_tool=after(_begins_again))


def _is_unknown_outcome(_: Any, message: dict[str, Any]) -> bool:
    result = message.get("result")
    outcome = result.get("outcome") if isinstance(result, dict) else None
    return isinstance(outcome, dict) and outcome.get("outcome") not in {"selected", "cancelled"}


full("ACP-ENUM-203", V2, "DiesOfAnUnknownOutcome")(take_answer=ends(_is_unknown_outcome))
