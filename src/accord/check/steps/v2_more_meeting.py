"""What comes before and beside the handshake of v2: requests too early, versions that do not fit, repetitions."""

from __future__ import annotations

from typing import Any

from accord.check.step import Notes, step
from accord.check.steps.v2_more_asking import NOBODY, ask_all
from accord.check.talk import BARE, INFO, Talk

__all__: list[str] = []

_ODD: dict[str, Any] = {"auth": None, "elicitation": True, "accord.check/unknown": {}}


@step("own", editions=("v2",))
async def v2_before_the_handshake(talk: Talk) -> Notes:
    """A request that comes too early; then clients from the future, one without a name and one with a name."""
    return await ask_all(
        talk,
        early=("session/list", {}),
        anonymous=("initialize", {"protocolVersion": 60000}),
        named=("initialize", {"protocolVersion": 60000, "info": INFO}),
    )


@step("own", editions=("v2",))
async def v2_early_notification(talk: Talk) -> Notes:
    """A notification that comes too early, and the handshake; alone, since there are agents that end of it."""
    since = talk.notify("session/cancel", {"sessionId": NOBODY})
    return {"since": since, **await ask_all(talk, handshake=("initialize", BARE["v2"]))}


@step("own", editions=("v2",))
async def v2_ancient_client(talk: Talk) -> Notes:
    """A client from before all versions; alone, since who speaks version 1 may welcome it and is bound by that."""
    return await ask_all(talk, ancient=("initialize", {**BARE["v2"], "protocolVersion": 0}))


@step("own", editions=("v2",))
async def v2_handshakes(talk: Talk) -> Notes:
    """A handshake that fails, one with odd capabilities, one more; and another when it is too late for that."""
    params = BARE["v2"]
    return await ask_all(
        talk,
        # Not without any `info`: that is how clients of June say hello, and who speaks both may welcome them.
        incomplete=("initialize", {**params, "info": {"title": "A client without a name"}}),
        odd=("initialize", {**params, "capabilities": _ODD}),
        again=("initialize", params),
        other=("session/list", {}),
        late=("initialize", params),
    )


@step("bare", editions=("v2",), gate={"v2": "initialize.authMethods"})
async def v2_unknown_login(talk: Talk) -> Notes:
    """A login by a method that was never offered."""
    return await ask_all(talk, login=("auth/login", {"methodId": "accord-check-no-such-method"}))
