"""Logging in once more, and giving the login up where that is allowed: the last thing that is done at all."""

from __future__ import annotations

from accord.check.step import Notes, step
from accord.check.steps.asking import asked
from accord.check.talk import LOGIN, LOGOUT, Talk

__all__ = ["logging_in"]

_METHODS = "initialize.authMethods"


@step("again", gate={"v1": _METHODS, "v2_june": _METHODS, "v2": _METHODS}, order=99)
async def logging_in(talk: Talk) -> Notes:
    """`login` and a session `between` only with a method to log in by; `logout` and a session `after` only if allowed.

    A logout may take the login from every process of the agent, so no other may run by then.
    """
    notes: Notes = {}
    new = {"cwd": talk.cwd, "mcpServers": []}
    if talk.options.auth_method:
        notes["login"] = await asked(talk, LOGIN[talk.edition], {"methodId": talk.options.auth_method})
        notes["between"] = await asked(talk, "session/new", new)
    if talk.options.allow_logout:
        notes["logout"] = await asked(talk, LOGOUT[talk.edition], {})
        notes["after"] = await asked(talk, "session/new", new)
    return notes
