"""Clients that are wrong in how they answer: permissions, forms, what they do not know and what they did not offer."""

from __future__ import annotations

from typing import Any

from tests.check.faults.change import after, edited, gives, instead, refuses, sets, skips, takes
from tests.check.faults.fault import ALL, JUNE, PLAIN_CLIENTS, V1, V2, client
from tests.check.faults.reference.client import title_of
from tests.check.faults.reference.client_terminals import Terminal
from tests.check.faults.reference.raw import NO_METHOD

__all__: list[str] = []

# --- permission

_YES = {"outcome": "selected", "optionId": "yes"}


def _decides(outcome: Any) -> Any:
    """The question whether something may be done has another outcome."""
    return edited(lambda given, title: outcome if "this be done?" in title else given)


def _waits(peer: Any, _: Any) -> Any:
    return peer.idle.wait()


async def _waits_first(peer: Any, old: Any, params: dict[str, Any]) -> Any:
    if "(2)" in title_of(params):
        await peer.idle.wait()
    return await old(params)


client("PERM-001", ALL, "DecidesInAWord")(decide=_decides("yes"))
client("PERM-001", ALL, "AnswersOneQuestionAtATime")(on_session_request_permission=_waits_first)
client("PERM-002", ALL, "SelectsWhatWasNotOffered")(decide=_decides({**_YES, "optionId": "allow"}))
for _topic, _editions in (("PERM-003", V1 + JUNE), ("PERM-004", V2)):
    client(_topic, _editions, "ApprovesWhatItCancels")(when_cancelling=edited(lambda _: _YES))
client("PERM-003", V1 + JUNE, "LeavesQuestionsOpenWhenItCancels")(
    on_session_request_permission=after(_waits, lambda _, params: "please cancel" in title_of(params))
)
client("PERM-005", ALL, "ApprovesForNobody")(
    on_session_request_permission=lambda peer, old, params: old({**params, "sessionId": peer.session})
)
client("REQUEST-001", ALL, "AnswersAnything")(
    on_session_request_permission=takes(
        lambda params: {**params, "options": []}, lambda _, params: not isinstance(params.get("options"), list)
    )
)

# --- forms and addresses


async def _forgets_it(peer: Any, _: Any, request_id: Any) -> None:
    task = peer.open_requests.get(request_id)
    if task is not None:
        task.cancel()


client("CANCEL-001", V1 + V2, "ForgetsWhatIsTakenBack")(take_cancel_request=_forgets_it)
client("ELICIT-001", V1 + V2, "AnswersFormsInItsOwnWords")(fill_in=gives({"action": "ok"}))
client("ELICIT-002", V1 + V2, "AnswersAddressesInItsOwnWords")(visit=gives({"action": "opened"}))
client("ELICIT-003", V1 + V2, "AnswersFormsThatItDidNotOffer", of=PLAIN_CLIENTS)(
    on_elicitation_create=gives({"action": "decline"})
)
client("ELICIT-003", V1 + V2, "DoesNotKnowAddresses")(offers=sets(elicitation={"form": {}}), visit=refuses(NO_METHOD))
client("ELICIT-005", V1 + V2, "FillsInNonsense")(fill_in=sets(content={"name": 7}))
client("ELICIT-005", V1 + V2, "LeavesOutWhatIsRequired")(fill_in=sets(content={"age": 3}))

# --- what they do not know, and what they did not offer


async def _runs_it(_: Any, old: Any, id_: Any, method: str, params: dict[str, Any]) -> Any:
    if method == "terminal/create":
        await (await Terminal.start(params, {})).ended()
    return await old(id_, method, params)


client("EXT-001", ALL, "KnowsEverything")(
    perform=instead(lambda *_: {}, lambda _, __, method, ___: method == "_accord.check/strange")
)
client("EXT-001", V1 + V2, "LeavesTheUnknownUnanswered")(
    take_request=skips(lambda _, message: message["method"].startswith(("_", "future/")))
)
client("HONEST-001", ALL, "ReadsWhatItDidNotOffer", of=PLAIN_CLIENTS)(
    perform=instead(lambda *_: {"content": "there\n"}, lambda _, __, method, ___: method == "fs/read_text_file")
)
client("HONEST-002", ALL, "WritesWhatItDidNotOffer", of=PLAIN_CLIENTS)(
    perform=instead(lambda *_: {}, lambda _, __, method, ___: method == "fs/write_text_file")
)
client("HONEST-003", ALL, "RunsWhatItDidNotOffer", of=PLAIN_CLIENTS)(perform=_runs_it)
