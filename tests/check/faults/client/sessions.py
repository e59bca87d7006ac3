"""Clients that are wrong in how they begin, in what they call, and in how they prompt."""

from __future__ import annotations

from typing import Any

from tests.check.faults.change import after, before, edited, gives, instead, named, sets, skips
from tests.check.faults.fault import ALL, JUNE, V1, V2, client

__all__: list[str] = []


def _asks(method: str, **params: Any) -> Any:
    """One more request, when the session is open."""
    return after(lambda peer: peer.ask(method, params))


# --- the handshake

client("INIT-001", ALL, "SpeaksBeforeTheHandshake")(drive=before(lambda peer: peer.notify("_by_hand/hello", {})))
client("INIT-002", ALL, "AsksForAVersionAsText")(
    introduction=edited(lambda params: {**params, "protocolVersion": str(params["protocolVersion"])})
)
client("INIT-003", ALL, "IsNobody")(info=gives({"title": "Somebody"}))
client("INIT-004", V1 + V2, "OffersInAnotherShape")(offers=edited(lambda offers: {**offers, "auth": True}))
client("INIT-004", JUNE, "OffersAList")(offers=gives(["prompts"]))
client("INIT-005", ALL, "GoesOnInAnyVersion")(is_spoken=lambda *_: True)
client("INIT-006", ALL, "OffersMore", note="teleport")(offers=sets(teleport={}))
client("INIT-007", V2, "ShakesHandsAgain")(
    before_prompt=after(lambda peer: peer.ask("initialize", peer.introduction()))
)

# --- sessions

_HTTP = {"type": "http", "name": "tools", "url": "https://example.invalid", "headers": []}
client("SESSION-001", ALL, "WorksAtARelativePath")(opening=sets(cwd="."))
client("SESSION-002", V1 + JUNE, "LeavesOutToolServers")(opening=edited(lambda params: {"cwd": params["cwd"]}))
client("SESSION-002", V2, "NamesToolServersByKey")(opening=sets(mcpServers={"tools": {"command": "/bin/tools"}}))
client("SESSION-002", ALL, "NamesUnreachableToolServers")(opening=sets(mcpServers=[_HTTP]))
client("SESSION-003", ALL, "NamesFurtherRoots")(
    opening=edited(lambda params: {**params, "additionalDirectories": [params["cwd"]]})
)
client("SESSION-004", ALL, "PromptsASessionOfNobody")(
    before_prompt=after(lambda peer: peer.ask("session/prompt", {**peer.prompting("Hello"), "sessionId": "mine"}))
)
client("GATE-001", V1 + JUNE, "ListsWhereNothingIsListed")(before_prompt=_asks("session/list"))
client("GATE-001", V2, "LogsInWhereNobodyHasTo")(before_prompt=_asks("auth/login", methodId="any"))
client("GATE-002", ALL, "CallsWhatDoesNotExist")(
    before_prompt=after(lambda peer: peer.ask("session/set_model", {"sessionId": peer.session, "modelId": "large"}))
)
client("CONFIG-002", ALL, "SetsOptionsByNumber")(
    before_prompt=instead(
        lambda peer: peer.ask("session/set_config_option", {"sessionId": peer.session, "configId": "size", "value": 3})
    )
)

# --- turns


def _leaves(peer: Any, words: str) -> None:
    peer.say({"jsonrpc": "2.0", "id": words, "method": "session/prompt", "params": peer.prompting(words)})


_IMAGE = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
client("TURN-001", ALL, "LeavesAtOnce")(prompt=instead(_leaves))
client("TURN-001", ALL, "NeverPrompts")(prompt=skips())
client("META-001", ALL, "AddsFields")(prompting=sets(model="large"))
client("PROMPT-001", ALL, "PromptsWithoutContent")(prompting=sets(prompt=[{"type": "text", "content": "Hello"}]))
client("PROMPT-002", ALL, "PromptsWithAnImage")(prompting=sets(prompt=[_IMAGE]))
client("PROMPT-003", V2, "PromptsWithNothing")(prompting=sets(prompt=[]))
client("CANCEL-003", V1 + V2, "TakesBackWhatItNeverAsked")(
    before_prompt=after(lambda peer: peer.notify("$/cancel_request", {"requestId": "of-nobody"}))
)
client("CANCEL-004", ALL, "CancelsByARequest")(
    notify=instead(
        lambda peer, method, params: peer.say({"jsonrpc": "2.0", "id": "cancel", "method": method, "params": params}),
        named("session/cancel"),
    )
)
