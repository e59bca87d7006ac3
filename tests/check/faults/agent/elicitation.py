"""Agents that are wrong about forms and addresses."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.check.faults.change import after, instead, sets
from tests.check.faults.fault import V1, V2, full

__all__: list[str] = []


def _schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _shows(*path: str, in_session: bool = True, **fields: Any) -> Any:
    """A form, to clients that offer something."""

    async def elicit(peer: Any, session: Any) -> None:
        schema = _schema(name={"type": "string", "title": "Name"})
        form = {"mode": "form", "message": "Who are you?", "requestedSchema": schema, **fields}
        if peer.offers(*path):
            await peer.ask("elicitation/create", {**form, "sessionId": session.id} if in_session else form)

    return elicit


async def _opens_a_page(peer: Any, session: Any) -> None:
    if peer.offers("elicitation"):
        page = {"mode": "url", "elicitationId": "page-1", "url": "https://example.com/", "message": "Look"}
        await peer.ask("elicitation/create", {**page, "sessionId": session.id})


_ADDRESS = _schema(address=_schema(street={"type": "string"}))

full("ACP-CLIENTCAP-003", V1, "FormsForWhoHasNone")(offers=lambda _, old, *path: path[0] == "elicitation" or old(*path))
full("ACCORD-ELICIT-001", V1, "FormsForAll")(elicit=instead(_shows("elicitation")))
full("ACCORD-ELICIT-002", V1, "PagesForAll")(elicit=after(_opens_a_page))
full("ACCORD-ELICIT-003", V1, "FormsOfNobody")(
    elicit=instead(_shows("elicitation", "form", in_session=False, requestId=987654))
)
full("ACCORD-ELICIT-004", V1, "FormsInForms")(elicit=instead(_shows("elicitation", "form", requestedSchema=_ADDRESS)))

# --- in v2


async def _waits_for_a_known_action(_: Any, old: Any, method: str, params: Any) -> Any:
    answer = await old(method, params)
    action = answer.get("result", {}).get("action")
    if method == "elicitation/create" and action not in {"accept", "decline", "cancel"}:
        await asyncio.get_running_loop().create_future()
    return answer


full("ACP-CLIENTCAP-201", V2, "ShowsFormsToWhoSaysNothing")(
    client_has=lambda peer, old, *path: (path[0] == "elicitation" and not peer.client) or old(*path)
)
full("ACCORD-ELICIT-201", V2, "AsksEveryoneInForms")(
    client_has=lambda _, old, *path: old(*(path[:1] if path[0] == "elicitation" else path))
)
full("ACCORD-ELICIT-202", V2, "AsksForTwoReasons")(form=sets(requestId=1))
full("ACCORD-ELICIT-203", V2, "AsksForAPassword")(
    form=sets(requestedSchema=_schema(password={"type": "string", "title": "Password"}))
)
full("ACCORD-ELICIT-204", V2, "WaitsForAnActionThatItKnows")(ask=_waits_for_a_known_action)
