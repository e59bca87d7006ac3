"""Agents of v2 that are wrong in what they tell: states, tool calls, diffs, terminals, compactions; rules of ours."""

from __future__ import annotations

from typing import Any

from accord.testing.faults.agent_v2 import FullV2, PlainV2
from accord.testing.faults.agent_v2_sessions import OpenSession
from accord.testing.faults.fault import breaks

__all__: list[str] = []


@breaks("ACCORD-UPDATE-201", "v2")
class TellsOfStrangers(PlainV2):
    async def after_answer(self, id_: Any, method: str, params: dict[str, Any], result: Any) -> None:
        await super().after_answer(id_, method, params, result)
        if method == "session/close":
            self.update("a-stranger", {"sessionUpdate": "session_info_update", "title": "Somebody"})


@breaks("ACCORD-ENUM-201", "v2")
class HasFatalNotices(FullV2):
    def tell_about(self, session: OpenSession) -> None:
        super().tell_about(session)
        self.tell(session, "notice", severity="fatal", title="All is lost")


# --- states


@breaks("ACCORD-STATE-201", "v2")
class TellsOfItsBackgroundSometimes(FullV2):
    def state_update(self, session: OpenSession, **more: Any) -> dict[str, Any]:
        update = super().state_update(session, **more)
        return {**update, "background": None} if session.state == "idle" else update


@breaks("ACCORD-STATE-202", "v2")
class ListsWhatNobodyKnows(FullV2):
    def state_update(self, session: OpenSession, **more: Any) -> dict[str, Any]:
        item = {"type": "terminal", "terminalId": "never-told"}
        return {**super().state_update(session, **more), "background": [item]}


@breaks("ACCORD-STATE-203", "v2")
class DropsWhatHasNotEnded(FullV2):
    def finish_background(self, session: OpenSession) -> None:
        if session.background:
            session.background.clear()
            self.tell_state(session)


@breaks("ACCORD-STATE-204", "v2")
class FailsWithoutAReason(PlainV2):
    def stop_reason(self) -> str:
        return "error"


@breaks("ACCORD-STATE-205", "v2")
class RestsWithoutAReason(PlainV2):
    def tell_idle(self, session: OpenSession, reason: str) -> None:
        if reason == "end_turn":
            self.enter(session, "idle")
        else:
            super().tell_idle(session, reason)


@breaks("ACCORD-STATE-206", "v2")
class ListsItsBackgroundTwice(FullV2):
    def state_update(self, session: OpenSession, **more: Any) -> dict[str, Any]:
        update = super().state_update(session, **more)
        return {**update, "background": [*update["background"], *update["background"]]}


@breaks("ACCORD-MESSAGE-201", "v2")
class HasOneMessage(PlainV2):
    def say_words(self, session: OpenSession, *words: str) -> None:
        for each in words:
            content = {"type": "text", "text": each}
            self.tell(session, "agent_message_chunk", messageId=f"answer-{session.id}", content=content)


# --- tool calls


@breaks("ACCORD-TOOL-201", "v2")
class WorksOnRelativePaths(FullV2):
    def tool(self, session: OpenSession, id_: str) -> dict[str, Any]:
        return {**super().tool(session, id_), "locations": [{"path": "notes.txt"}]}


@breaks("ACCORD-TOOL-202", "v2")
class ShowsNoPatch(FullV2):
    def diff(self, session: OpenSession) -> dict[str, Any]:
        return {**super().diff(session), "patch": None}


class _Patches(FullV2):
    """The text of its patches is another one."""

    def patch_for(self, path: str) -> str:
        """The text."""
        return path

    def diff(self, session: OpenSession) -> dict[str, Any]:
        patch = {"format": "git_patch", "text": self.patch_for(self.file_of(session))}
        return {**super().diff(session), "patch": patch}


@breaks("ACCORD-TOOL-203", "v2")
class ShowsPatchesLikeGit(_Patches):
    def patch_for(self, path: str) -> str:
        return f"diff --git a{path} b{path}\n--- a{path}\n+++ b{path}\n@@ -1 +1 @@\n-old\n+new\n"


@breaks("ACCORD-TOOL-203", "v2")
class ShowsPatchesLikeMail(_Patches):
    def patch_for(self, path: str) -> str:
        patch = f"diff --git {path} {path}\n--- {path}\n+++ {path}\n@@ -1 +1 @@\n-old\n+new\n"
        return f"From: me\nSubject: [PATCH] notes\n\n{patch}"


@breaks("ACCORD-TOOL-204", "v2")
class PatchesAnotherFile(_Patches):
    def patch_for(self, path: str) -> str:
        return f"diff --git {path} {path}.old\n--- {path}\n+++ {path}.old\n@@ -1 +1 @@\n-old\n+new\n"


class _KeepsOffering(FullV2):
    """What has ended can be cancelled, it says."""

    kind = ""

    def tell(self, session: OpenSession, kind: str, /, **fields: Any) -> None:
        if kind == self.kind and fields.get("capabilities", {}) is None:
            del fields["capabilities"]
        super().tell(session, kind, **fields)


@breaks("ACCORD-TOOL-205", "v2")
class OffersToCancelEndedToolCalls(_KeepsOffering):
    kind = "tool_call_update"


@breaks("ACCORD-TERM-202", "v2")
class OffersToCancelExitedTerminals(_KeepsOffering):
    kind = "terminal_update"


@breaks("ACCORD-TOOL-206", "v2")
class NeverCompletesAToolCall(FullV2):
    def tell(self, session: OpenSession, kind: str, /, **fields: Any) -> None:
        if kind != "tool_call_update" or fields.get("status") != "completed":
            super().tell(session, kind, **fields)


@breaks("ACCORD-TOOL-207", "v2")
class BeginsToolCallsAgain(FullV2):
    async def use_tool(self, session: OpenSession) -> None:
        await super().use_tool(session)
        calls = [each for each in session.kept.history() if each["sessionUpdate"] == "tool_call_update"]
        for status in ("in_progress", calls[-1]["status"]):
            self.tell(session, "tool_call_update", toolCallId=calls[-1]["toolCallId"], status=status)


@breaks("ACCORD-TERM-203", "v2")
class HasOneTerminal(FullV2):
    def run_command(self, session: OpenSession, id_: str) -> None:
        terminal = f"terminal-of-{session.id}"
        self.tell_terminal(session, terminal)
        self.tell_content(session, id_, {"type": "terminal", "terminalId": terminal})
        self.tell(session, "terminal_update", terminalId=terminal, exitStatus={"exitCode": 0})


@breaks("ACCORD-TERM-201", "v2")
class ShowsAnEmptyTerminal(FullV2):
    def run_command(self, session: OpenSession, id_: str) -> None:
        self.tell_content(session, id_, {"type": "terminal", "terminalId": "never-told"})


# --- compactions


class _Compacts(FullV2):
    """Its compactions go another way."""

    def compact(self, session: OpenSession) -> None:
        named = {"compactionId": f"compaction-{self.new_message_id()}"}
        self.tell(session, "compaction_update", **named, status="in_progress")
        self.end_of_compaction(session, named)

    def end_of_compaction(self, session: OpenSession, named: dict[str, Any]) -> None:
        """How it ends."""


@breaks("ACCORD-COMPACT-201", "v2")
class SumsUpTooLate(_Compacts):
    def end_of_compaction(self, session: OpenSession, named: dict[str, Any]) -> None:
        summary = {"type": "text", "text": "It was about notes"}
        self.tell(session, "compaction_update", **named, status="completed", summary=[summary])
        self.tell(session, "compaction_summary_chunk", **named, content=summary)


@breaks("ACCORD-COMPACT-202", "v2")
class CompactsToNothing(_Compacts):
    def end_of_compaction(self, session: OpenSession, named: dict[str, Any]) -> None:
        self.tell(session, "compaction_update", **named, status="completed")


@breaks("ACCORD-COMPACT-203", "v2")
class FailsToCompactWithoutAReason(_Compacts):
    def end_of_compaction(self, session: OpenSession, named: dict[str, Any]) -> None:
        self.tell(session, "compaction_update", **named, status="failed")
