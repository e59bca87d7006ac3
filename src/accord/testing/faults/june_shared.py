"""Agents of June's v2 that are wrong in the same way as agents of v1: the same changes of other agents."""

from __future__ import annotations

from accord.testing.faults import v1_handshake, v1_lines, v1_sessions, v1_turns
from accord.testing.faults.agent_june import FullJune, PlainJune
from accord.testing.faults.agent_v1 import FullV1, PlainV1
from accord.testing.faults.fault import FAULTS, breaks

__all__ = ["in_june"]


def in_june(fault: type[PlainV1], *, breaks_instead: str = "") -> None:
    """Let a fault of v1 be one of June's, under the same name; by what it breaks there if that has another id."""
    same = next(each for each in FAULTS if each.make is fault)
    agent = FullJune if issubclass(fault, FullV1) else PlainJune
    in_this = type(fault.__name__, (fault, agent), {"__doc__": fault.__doc__, "__module__": __name__})
    breaks(breaks_instead or same.breaks, "v2_june", note=same.note)(in_this)


_LINES: tuple[type[PlainV1], ...] = (v1_lines.BannerOnStdout, v1_lines.LateGarbage, v1_lines.UnendedLine)
_SAME: tuple[type[PlainV1], ...] = (
    v1_lines.InvalidUtf8,
    v1_lines.EmptyIdIsNull,
    v1_lines.NegativeIdsAreText,
    v1_lines.ErrorWithoutMessage,
    v1_lines.AnswersNotifications,
    v1_lines.UnknownMethodIsInternalError,
    v1_lines.DiesOfABadRequest,
    v1_lines.ExtensionsAreIgnored,
    v1_lines.ErrorsWithParagraphs,
    v1_lines.ErrorsWithoutWords,
    v1_lines.NeverEnds,
    v1_lines.ChattersOnStderr,
    v1_lines.SilentAboutBrokenLines,
    v1_handshake.NoHandshake,
    v1_handshake.EchoesAnyVersion,
    v1_handshake.Nameless,
    v1_handshake.KeysOfItsOwn,
    v1_handshake.TwoLoginsWithOneId,
    v1_handshake.LoginIsForgotten,
    v1_handshake.NoWayOut,
    v1_handshake.LoginWithoutMethods,
    v1_handshake.ValueIsNoChoice,
    v1_handshake.OnlyTheChangedOption,
    v1_handshake.OptionsDoNotChange,
    v1_sessions.NoSessions,
    v1_sessions.TheSameSessionTwice,
    v1_sessions.LoadFails,
    v1_sessions.ReplaysTooLate,
    v1_sessions.LoadIsNull,
    v1_sessions.ResumeWantsServers,
    v1_sessions.ResumeReplays,
    v1_sessions.ListFails,
    v1_sessions.EmptyListIsAnError,
    v1_sessions.DeleteFails,
    v1_sessions.DeleteMissesIt,
    v1_sessions.IdleCannotBeClosed,
    v1_sessions.CloseEndsTheTurn,
    v1_sessions.OneRootOnly,
    v1_turns.UnknownStopReason,
    v1_turns.UpdatesOfAnotherSession,
    v1_turns.NoLinks,
    v1_turns.NoImages,
    v1_turns.NoRecordings,
    v1_turns.NoResources,
    v1_turns.NoMetadata,
    v1_turns.UnknownSessionIsInternalError,
    v1_turns.CancelIsAnError,
    v1_turns.CancelIsAnEnd,
    v1_turns.SpeaksAfterCancel,
)

for _fault in _LINES:
    in_june(_fault, breaks_instead="ACP-TRANSPORT-201")
for _fault in _SAME:
    in_june(_fault)
