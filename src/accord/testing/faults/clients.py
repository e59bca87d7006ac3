"""Clients that are wrong in what they write, how they begin and how they prompt."""

from __future__ import annotations

from typing import Any

from accord.testing.faults.client import PlainClient
from accord.testing.faults.client_fault import breaks_as_client, chokes

__all__: list[str] = []

LARGE_BYTES = 64 * 1024

# --- what they cannot take

chokes("ChokesOnUnknownUpdates", "UPDATE-001", b'"future_thing"')
chokes("ChokesOnUnknownContent", "UPDATE-002", b'"_hologram"')
chokes("ChokesOnBadUpdates", "UPDATE-003", b'"sessionUpdate": 7')
chokes("ChokesOnEarlyUpdates", "UPDATE-004", b'"title": "Early"')
chokes("ChokesOnLateUpdates", "UPDATE-005", b'"title": "Late"')
chokes("ChokesOnStrangeSessions", "UPDATE-006", b'"text": "lost"')
chokes("ChokesOnCommands", "UPDATE-008", b'"availableCommands"')
chokes("ChokesOnNull", "UPDATE-009", b'"locations": null')
chokes("ChokesOnUnknownStates", "UPDATE-010", b'"_pondering"', "v2")
chokes("ChokesOnMeta", "UPDATE-011", b'"traceparent"')
chokes("ChokesOnUnknownOptions", "CONFIG-001", b'"_dial"')
chokes("ChokesOnUnknownNotifications", "EXT-002", b'"_accord.check/hello"')
chokes("ChokesOnUnknownCancels", "CANCEL-002", b'"requestId": 987654321', "v1", "v2")
chokes("ChokesOnUnknownCompletions", "ELICIT-004", b'"elicitation/complete"', "v1", "v2")
chokes("ChokesOnNoise", "RUDE-001", b"this is no JSON")
chokes("ChokesOnOtherJson", "RUDE-002", b'"hello": "world"')
chokes("ChokesOnArrays", "RUDE-003", b'"_accord.check/in_an_array"', "v1", "v2")
chokes("ChokesOnStrayAnswers", "RUDE-004", b'"id": 987654321')
chokes("ChokesOnBlankLines", "RUDE-005", b"\r")
chokes("ChokesOnUnknownAnswersToAsk", "PERM-006", b'"_maybe"', "v2_june", "v2")
chokes("LeavesWhenItHasCancelled", "CANCEL-005", b'"status": "failed"')


@breaks_as_client("UPDATE-007")
class ChokesOnLargeUpdates(PlainClient):
    """As readers do that have a limit for lines."""

    def is_too_much(self, line: bytes) -> bool:
        return len(line) > LARGE_BYTES


# --- lines


@breaks_as_client("WIRE-001")
class LogsToItsAgent(PlainClient):
    """Says what it does, where the agent listens."""

    async def before_prompt(self) -> None:
        self.write(b"INFO prompting\n")
        await super().before_prompt()


@breaks_as_client("WIRE-001")
class LeavesOutTheVersionOfJsonRpc(PlainClient):
    """As other dialects of JSON-RPC do."""

    async def before_prompt(self) -> None:
        self.say({"method": "_by_hand/hello", "params": {}})
        await super().before_prompt()


@breaks_as_client("WIRE-002")
class BreaksOff(PlainClient):
    """Ends in the middle of a line."""

    async def at_last(self) -> None:
        self.write(b'{"jsonrpc": "2.0"')


@breaks_as_client("WIRE-003", "v1", "v2")
class SendsArrays(PlainClient):
    """Where there are no batches."""

    async def before_prompt(self) -> None:
        self.say([{"jsonrpc": "2.0", "method": "_by_hand/hello", "params": {}}])
        await super().before_prompt()


@breaks_as_client("ID-001")
class HasFractionsForIds(PlainClient):
    """No text, no integer."""

    async def before_prompt(self) -> None:
        self.say({"jsonrpc": "2.0", "id": 1.5, "method": "_by_hand/hello", "params": {}})
        await super().before_prompt()


@breaks_as_client("ID-001", "v2")
class HasNullForAnId(PlainClient):
    """Which v2 forbids."""

    async def before_prompt(self) -> None:
        self.say({"jsonrpc": "2.0", "id": None, "method": "_by_hand/hello", "params": {}})
        await super().before_prompt()


@breaks_as_client("ID-002")
class UsesAnIdTwice(PlainClient):
    """While the first request with it is pending."""

    def say(self, message: Any) -> None:
        super().say(message)
        if isinstance(message, dict) and message.get("method") == "session/prompt":
            super().say({**message, "method": "_by_hand/hello", "params": {}})

    def take_answer(self, message: dict[str, Any]) -> None:
        if "error" not in message:
            super().take_answer(message)


@breaks_as_client("ANSWER-001")
class AnswersTwice(PlainClient):
    """Every question for permission."""

    def answer(self, id_: Any, result: Any) -> None:
        super().answer(id_, result)
        if isinstance(result, dict) and "outcome" in result:
            super().answer(id_, result)


@breaks_as_client("ANSWER-002")
class AnswersWithBoth(PlainClient):
    """A result, and an error that is none."""

    def decide(self, title: str) -> Any:
        return {**super().decide(title), "_meta": {"both": "this be done?" in title}}

    def answer(self, id_: Any, result: Any) -> None:
        outcome = result.get("outcome") if isinstance(result, dict) else None
        if isinstance(outcome, dict) and outcome.get("_meta") == {"both": True}:
            self.say({"jsonrpc": "2.0", "id": id_, "result": result, "error": None})
        else:
            super().answer(id_, result)


@breaks_as_client("ANSWER-002")
class SaysErrorsAsText(PlainClient):
    """An error without a code."""

    def refuse(self, id_: Any, code: int, message: str, data: Any = None) -> None:
        if message != "There is no such session":
            super().refuse(id_, code, message, data)
        else:
            self.say({"jsonrpc": "2.0", "id": id_, "error": message})


@breaks_as_client("ANSWER-003")
class AnswersNotifications(PlainClient):
    """As if they were requests."""

    async def take_notification(self, method: str, params: Any) -> None:
        await super().take_notification(method, params)
        if method == "_accord.check/hello":
            self.answer(None, None)


@breaks_as_client("END-001", note="status 1")
class EndsWithAnError(PlainClient):
    """When all is done."""

    async def at_last(self) -> None:
        raise RuntimeError("the end")


# --- how they begin


@breaks_as_client("INIT-001")
class SpeaksBeforeTheHandshake(PlainClient):
    """Of something else."""

    async def drive(self) -> None:
        self.notify("_by_hand/hello", {})
        await super().drive()


@breaks_as_client("INIT-002")
class AsksForAVersionAsText(PlainClient):
    """As other protocols do."""

    def introduction(self) -> dict[str, Any]:
        return {**super().introduction(), "protocolVersion": str(self.version)}


@breaks_as_client("INIT-003")
class IsNobody(PlainClient):
    """Does not say who it is."""

    def info(self) -> dict[str, Any]:
        return {"title": "Somebody"}


@breaks_as_client("INIT-004", "v1", "v2")
class OffersInAnotherShape(PlainClient):
    """A yes where an object belongs."""

    def offers(self) -> Any:
        return {**super().offers(), "auth": True}


@breaks_as_client("INIT-004", "v2_june")
class OffersAList(PlainClient):
    """Where an object belongs."""

    def offers(self) -> Any:
        return ["prompts"]


@breaks_as_client("INIT-005")
class GoesOnInAnyVersion(PlainClient):
    """Whatever the agent answers."""

    def is_spoken(self, _answer: dict[str, Any]) -> bool:
        return True


@breaks_as_client("INIT-006", note="teleport")
class OffersMore(PlainClient):
    """Something that no other does."""

    def offers(self) -> Any:
        return {**super().offers(), "teleport": {}}


@breaks_as_client("INIT-007", "v2")
class ShakesHandsAgain(PlainClient):
    """When its session is open."""

    async def before_prompt(self) -> None:
        await super().before_prompt()
        await self.ask("initialize", self.introduction())


@breaks_as_client("SESSION-001")
class WorksAtARelativePath(PlainClient):
    """Which means nothing to an agent."""

    def opening(self) -> dict[str, Any]:
        return {**super().opening(), "cwd": "."}


@breaks_as_client("SESSION-002", "v1", "v2_june")
class LeavesOutToolServers(PlainClient):
    """Which have to be named, be it none."""

    def opening(self) -> dict[str, Any]:
        return {"cwd": self.folder}


@breaks_as_client("SESSION-002", "v2")
class NamesToolServersByKey(PlainClient):
    """As configuration files do."""

    def opening(self) -> dict[str, Any]:
        return {**super().opening(), "mcpServers": {"tools": {"command": "/bin/tools"}}}


@breaks_as_client("SESSION-002")
class NamesUnreachableToolServers(PlainClient):
    """By a transport that the agent does not have."""

    def opening(self) -> dict[str, Any]:
        server = {"type": "http", "name": "tools", "url": "https://example.invalid", "headers": []}
        return {**super().opening(), "mcpServers": [server]}


@breaks_as_client("SESSION-003")
class NamesFurtherRoots(PlainClient):
    """To an agent that takes none."""

    def opening(self) -> dict[str, Any]:
        return {**super().opening(), "additionalDirectories": [self.folder]}


@breaks_as_client("SESSION-004")
class PromptsASessionOfNobody(PlainClient):
    """Which no agent opened."""

    async def before_prompt(self) -> None:
        await super().before_prompt()
        await self.ask("session/prompt", {**self.prompting("Hello"), "sessionId": "mine"})


@breaks_as_client("GATE-001", "v1", "v2_june")
class ListsWhereNothingIsListed(PlainClient):
    """Does not look at what the agent advertises."""

    async def before_prompt(self) -> None:
        await super().before_prompt()
        await self.ask("session/list", {})


@breaks_as_client("GATE-001", "v2")
class LogsInWhereNobodyHasTo(PlainClient):
    """Does not look at what the agent advertises."""

    async def before_prompt(self) -> None:
        await super().before_prompt()
        await self.ask("auth/login", {"methodId": "any"})


@breaks_as_client("GATE-002")
class CallsWhatDoesNotExist(PlainClient):
    """A method of its own, called like one of the protocol."""

    async def before_prompt(self) -> None:
        await super().before_prompt()
        await self.ask("session/set_model", {"sessionId": self.session, "modelId": "large"})


@breaks_as_client("META-001")
class AddsFields(PlainClient):
    """To a type that is not its own."""

    def prompting(self, words: str) -> dict[str, Any]:
        return {**super().prompting(words), "model": "large"}


# --- turns


@breaks_as_client("TURN-001")
class LeavesAtOnce(PlainClient):
    """When it has prompted."""

    async def prompt(self, words: str) -> None:
        self.say({"jsonrpc": "2.0", "id": words, "method": "session/prompt", "params": self.prompting(words)})


@breaks_as_client("TURN-001")
class NeverPrompts(PlainClient):
    """Opens a session for nothing."""

    async def prompt(self, _words: str) -> None:
        """It has nothing to say."""


@breaks_as_client("PROMPT-001")
class PromptsWithoutContent(PlainClient):
    """A text without one."""

    def prompting(self, words: str) -> dict[str, Any]:
        return {**super().prompting(words), "prompt": [{"type": "text", "content": words}]}


@breaks_as_client("PROMPT-002")
class PromptsWithAnImage(PlainClient):
    """Which the agent does not take."""

    def prompting(self, words: str) -> dict[str, Any]:
        image = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
        return {**super().prompting(words), "prompt": [image]}


@breaks_as_client("PROMPT-003", "v2")
class PromptsWithNothing(PlainClient):
    """An empty list."""

    def prompting(self, words: str) -> dict[str, Any]:
        return {**super().prompting(words), "prompt": []}


@breaks_as_client("CANCEL-003", "v1", "v2")
class TakesBackWhatItNeverAsked(PlainClient):
    """A request of nobody."""

    async def before_prompt(self) -> None:
        await super().before_prompt()
        self.notify("$/cancel_request", {"requestId": "of-nobody"})


@breaks_as_client("CANCEL-004")
class CancelsByARequest(PlainClient):
    """And would like an answer."""

    def notify(self, method: str, params: Any) -> None:
        if method == "session/cancel":
            self.say({"jsonrpc": "2.0", "id": "cancel", "method": method, "params": params})
        else:
            super().notify(method, params)


@breaks_as_client("CONFIG-002")
class SetsOptionsByNumber(PlainClient):
    """Where values have ids."""

    async def before_prompt(self) -> None:
        await self.ask("session/set_config_option", {"sessionId": self.session, "configId": "size", "value": 3})
