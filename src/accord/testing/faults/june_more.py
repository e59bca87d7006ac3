"""Agents of June's v2 that are wrong about what only June demands, and in the same way as agents of v1."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from accord.testing.faults import v1_more, v1_more_sessions, v1_more_turns
from accord.testing.faults.agent_june import FullJune, PlainJune
from accord.testing.faults.agent_v1 import PlainV1
from accord.testing.faults.fault import breaks
from accord.testing.faults.june_shared import in_june
from accord.testing.faults.shelf import Session

__all__: list[str] = []

_NOT_IN_JUNE: set[type[PlainV1]] = {
    v1_more.DiesOfNotifications,
    v1_more.SilentAboutArrays,
    v1_more_sessions.BusyIsBusy,
    v1_more_sessions.ModesWait,
    v1_more_sessions.AnswersTwice,
    v1_more_sessions.TakenBackIsInternal,
    v1_more_sessions.DiesOfTakingBack,
    v1_more_sessions.RelativeList,
    v1_more_sessions.FilterIsRough,
    v1_more_sessions.DeletedIsListed,
    v1_more_sessions.ModeWithoutOption,
    v1_more_sessions.TwoModesAtOnce,
    v1_more_sessions.OptionIsNotTold,
    v1_more_sessions.ModeIsNotTold,
    v1_more_sessions.AnyModeWillDo,
    v1_more_sessions.ModesShareAnId,
    v1_more_turns.UpdatesBeforeTools,
    v1_more_turns.AnnouncesTwice,
    v1_more_turns.FailsWithItsClient,
    v1_more_turns.LinesFromZero,
    v1_more_turns.FailsAfterYes,
    v1_more_turns.OneMessageForAll,
    v1_more_turns.MetadataAreText,
}
"""Whatever is about what June does not have, or has in other words, or has a row of the kit for."""


def _faults_of(room: ModuleType) -> list[type[PlainV1]]:
    classes = [each for each in vars(room).values() if isinstance(each, type) and issubclass(each, PlainV1)]
    return [each for each in classes if each.__module__ == room.__name__ and not each.__name__.startswith("_")]


for _room in (v1_more, v1_more_turns, v1_more_sessions):
    for _fault in _faults_of(_room):
        if _fault not in _NOT_IN_JUNE:
            in_june(_fault)


@breaks("ACCORD-ORDER-002", "v2_june")
class ContentBeforeTools(FullJune):
    """Tells what a tool has done before it announces it."""

    def open_tool(self, session: Session, tool: str) -> None:
        """A tool is about to run."""
        content = {"type": "content", "content": {"type": "text", "text": "soon"}}
        self.update(session, "tool_call_content_chunk", toolCallId=tool, content=content)
        super().open_tool(session, tool)


@breaks("ACCORD-MESSAGE-001", "v2_june")
class OneMessageOfTheAgent(PlainJune):
    """Has one id for whatever it says itself."""

    def show_message(self, session: Session, words: str) -> None:
        """The agent says something."""
        content = {"type": "text", "text": words}
        self.show(session, "agent_message_chunk", messageId="message-of-the-agent", content=content)


@breaks("ACCORD-JUNE-INIT-001", "v2_june")
class SpeaksLikeV1(FullJune):
    """Says what it can do in the words of v1 as well."""

    def handshake_result(self, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to the handshake."""
        return {**super().handshake_result(params), "agentCapabilities": {"loadSession": True}}


@breaks("ACCORD-JUNE-AUTH-001", "v2_june")
class LoginWithoutType(FullJune):
    """Offers a login as v1 does."""

    def auth_methods(self) -> list[dict[str, Any]]:
        """How to log in."""
        return [{"id": "token", "name": "Log in with a token"}]


@breaks("ACCORD-JUNE-PLAN-001", "v2_june")
class PlansAsInNovember(FullJune):
    """Names a plan as a later draft does."""

    def show_plan(self, session: Session, status: str) -> None:
        """The whole plan."""
        plan = {"type": "items", "planId": "plan-1", "entries": self.plan_entries(status)}
        self.show(session, "plan_update", plan=plan)


@breaks("ACCORD-JUNE-PERM-001", "v2_june")
class AsksAboutNothing(FullJune):
    """Asks without saying for which tool call."""

    def permission(self, session: Session, tool: str) -> dict[str, Any]:
        """The question whether a tool may run."""
        question = super().permission(session, tool)
        del question["toolCall"]
        return question


@breaks("ACCORD-JUNE-CONFIG-001", "v2_june")
class GroupsAsInNovember(FullJune):
    """Names groups of choices as a later draft does."""

    def options(self, session: Session) -> list[dict[str, Any]]:
        """All options."""
        options = super().options(session)
        for option in options:
            for choice in option["options"]:
                if "group" in choice:
                    choice["groupId"] = choice.pop("group")
        return options


@breaks("ACCORD-JUNE-MESSAGE-001", "v2_june")
class ThoughtsAreMessages(FullJune):
    """Thinks and speaks under one id."""

    def show_thought(self, session: Session, words: str) -> None:
        """The agent thinks."""
        message_id, content = self.message_id(), {"type": "text", "text": words}
        self.show(session, "agent_thought_chunk", messageId=message_id, content=content)
        self.show(session, "agent_message_chunk", messageId=message_id, content=content)


@breaks("ACCORD-JUNE-MESSAGE-002", "v2_june")
class MessagesInTurn(PlainJune):
    """Says two things at once, a word of each."""

    def show_message(self, session: Session, words: str) -> None:
        """The agent says something."""
        ids = (self.message_id(), self.message_id())
        for message_id in (*ids, *ids):
            self.show(session, "agent_message_chunk", messageId=message_id, content={"type": "text", "text": words})


@breaks("ACCORD-JUNE-MESSAGE-003", "v2_june")
class ReplaysOnePrompt(FullJune):
    """Replays all prompts under one id."""

    def replay(self, session: Session) -> None:
        """Say all of it again."""
        for update in session.history:
            fields = {name: value for name, value in update.items() if name != "sessionUpdate"}
            if update["sessionUpdate"] == "user_message":
                fields = {"messageId": "message-of-the-user", "content": update["content"]}
            self.update(session, update["sessionUpdate"], **fields)


@breaks("ACCORD-JUNE-TOOL-001", "v2_june")
class TitlesComeLater(FullJune):
    """Announces a tool call without its title."""

    def open_tool(self, session: Session, tool: str) -> None:
        """A tool is about to run."""
        fields = self.tool_fields(session)
        title = fields.pop("title")
        self.update_tool(session, tool, **fields)
        self.update_tool(session, tool, title=title)
