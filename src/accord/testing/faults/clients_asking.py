"""Clients that are wrong in how they answer: permissions, forms, what they do not know and what they did not offer."""

from __future__ import annotations

from typing import Any

from accord.testing.faults.client import PlainClient, title_of
from accord.testing.faults.client_fault import PLAIN, breaks_as_client
from accord.testing.faults.client_full import FullClient
from accord.testing.faults.client_terminals import Terminal
from accord.testing.faults.raw import Refused

__all__: list[str] = []

YES = {"outcome": "selected", "optionId": "yes"}


@breaks_as_client("PERM-001")
class DecidesInAWord(PlainClient):
    """Where an outcome belongs."""

    def decide(self, title: str) -> Any:
        return "yes" if "this be done?" in title else super().decide(title)


@breaks_as_client("PERM-001")
class AnswersOneQuestionAtATime(PlainClient):
    """And forgets the others."""

    async def on_session_request_permission(self, params: dict[str, Any]) -> dict[str, Any]:
        if "(2)" in title_of(params):
            await self.idle.wait()
        return await super().on_session_request_permission(params)


@breaks_as_client("PERM-002")
class SelectsWhatWasNotOffered(PlainClient):
    """An option of its own."""

    def decide(self, title: str) -> Any:
        return {**YES, "optionId": "allow"} if "this be done?" in title else super().decide(title)


@breaks_as_client("PERM-003", "v1", "v2_june")
@breaks_as_client("PERM-004", "v2")
class ApprovesWhatItCancels(PlainClient):
    """Cancels, and says yes."""

    def when_cancelling(self) -> dict[str, Any]:
        super().when_cancelling()
        return YES


@breaks_as_client("PERM-003", "v1", "v2_june")
class LeavesQuestionsOpenWhenItCancels(PlainClient):
    """Cancels, and says nothing."""

    async def on_session_request_permission(self, params: dict[str, Any]) -> dict[str, Any]:
        result = await super().on_session_request_permission(params)
        if "please cancel" in title_of(params):
            await self.idle.wait()
        return result


@breaks_as_client("PERM-005")
class ApprovesForNobody(PlainClient):
    """Does not look for the session."""

    async def on_session_request_permission(self, params: dict[str, Any]) -> dict[str, Any]:
        return await super().on_session_request_permission({**params, "sessionId": self.session})


@breaks_as_client("CANCEL-001", "v1", "v2")
class ForgetsWhatIsTakenBack(PlainClient):
    """Without an answer."""

    async def take_cancel_request(self, request_id: Any) -> None:
        task = self.open_requests.get(request_id)
        if task is not None:
            task.cancel()


@breaks_as_client("EXT-001")
class KnowsEverything(PlainClient):
    """Answers what it cannot know."""

    async def perform(self, id_: Any, method: str, params: dict[str, Any]) -> Any:
        return {} if method == "_accord.check/strange" else await super().perform(id_, method, params)


@breaks_as_client("EXT-001", "v1", "v2")
class LeavesTheUnknownUnanswered(PlainClient):
    """For ever."""

    async def take_request(self, message: dict[str, Any]) -> None:
        if not message["method"].startswith(("_", "future/")):
            await super().take_request(message)


@breaks_as_client("REQUEST-001")
class AnswersAnything(PlainClient):
    """Does not look at what it is asked."""

    async def on_session_request_permission(self, params: dict[str, Any]) -> dict[str, Any]:
        options = params.get("options")
        return await super().on_session_request_permission(
            params if isinstance(options, list) else {**params, "options": []}
        )


@breaks_as_client("BATCH-001", "v2_june")
class PassesOverBatches(PlainClient):
    """As if they were nothing."""

    async def take_array(self, _messages: list[Any]) -> None:
        """Nothing."""


@breaks_as_client("RUDE-003", "v1", "v2")
class ServesArrays(PlainClient):
    """Where there are no batches."""

    async def take_array(self, messages: list[Any]) -> None:
        for message in messages:
            await self.take_json(message)


@breaks_as_client("ELICIT-001", "v1", "v2")
class AnswersFormsInItsOwnWords(FullClient):
    """No action that there is."""

    def fill_in(self) -> dict[str, Any]:
        return {"action": "ok"}


@breaks_as_client("ELICIT-002", "v1", "v2")
class AnswersAddressesInItsOwnWords(FullClient):
    """No action that there is."""

    def visit(self) -> dict[str, Any]:
        return {"action": "opened"}


@breaks_as_client("ELICIT-003", "v1", "v2", of=PLAIN)
class AnswersFormsThatItDidNotOffer(PlainClient):
    """As if it had."""

    async def on_elicitation_create(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {"action": "decline"}


@breaks_as_client("ELICIT-003", "v1", "v2")
class DoesNotKnowAddresses(FullClient):
    """Which it did not offer; but it knows forms, and so the method."""

    def offers(self) -> Any:
        return {**super().offers(), "elicitation": {"form": {}}}

    def visit(self) -> dict[str, Any]:
        raise Refused(-32601, "Method not found")


@breaks_as_client("ELICIT-005", "v1", "v2")
class FillsInNonsense(FullClient):
    """A number for a name."""

    def fill_in(self) -> dict[str, Any]:
        return {"action": "accept", "content": {"name": 7}}


@breaks_as_client("ELICIT-005", "v1", "v2")
class LeavesOutWhatIsRequired(FullClient):
    """The name."""

    def fill_in(self) -> dict[str, Any]:
        return {"action": "accept", "content": {"age": 3}}


@breaks_as_client("HONEST-001", of=PLAIN)
class ReadsWhatItDidNotOffer(PlainClient):
    """A file."""

    async def on_fs_read_text_file(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {"content": "there\n"}


@breaks_as_client("HONEST-002", of=PLAIN)
class WritesWhatItDidNotOffer(PlainClient):
    """A file."""

    async def on_fs_write_text_file(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {}


@breaks_as_client("HONEST-003", of=PLAIN)
class RunsWhatItDidNotOffer(PlainClient):
    """A command, and says that it did not."""

    async def perform(self, id_: Any, method: str, params: dict[str, Any]) -> Any:
        if method == "terminal/create":
            await (await Terminal.start(params, {})).ended()
        return await super().perform(id_, method, params)
