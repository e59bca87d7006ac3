"""Requests and notifications that are strange but whole: ids of every kind, unknown methods, wrong params."""

from __future__ import annotations

from accord.check.step import Notes, step
from accord.check.steps.asking import asked, heard, lives
from accord.check.talk import Talk

__all__ = ["IDS", "NOTIFICATIONS", "strange_requests", "unknown_session"]

IDS = (700_007, "seven", 0, "", -3, 2**53)
"""None of them is ever the id of another request."""
NOTIFICATIONS = ("_example.com/unknown", "_example.com/note", "nonsense/note", "$/nonsense")


@step("own")
async def strange_requests(talk: Talk) -> Notes:
    """Ids of every kind (`ids`), methods that nobody has, notifications that nobody takes, and requests that are wrong.

    `extension` is a request that starts with an underscore, `unknown` one that does not; `notifications` is the place
    of the first notification, and at `quiet` an answer to one would have come; `after` is a session that is asked for
    when all of it is over.
    """
    await talk.shake_hands()
    for id_ in IDS:
        talk.ask("nonsense/method", {"a": 1}, id_)
    for id_ in IDS:
        await heard(talk, id_)
    extension = await asked(talk, "_example.com/unknown", {"a": 1})
    unknown = await asked(talk, "nonsense/method", {})
    notifications = talk.now
    for method in NOTIFICATIONS:
        # A sign of life behind each shows which of them was answered.
        talk.notify(method, {"a": 1})
        await lives(talk)
    talk.notify("session/cancel", {"sessionId": "nobody"})
    await lives(talk)
    quiet = talk.now
    wrong = await asked(talk, "session/new", {"cwd": 5, "mcpServers": "none"})
    relative = await asked(talk, "session/new", {"cwd": "here", "mcpServers": []})
    after = await asked(talk, "session/new", {"cwd": talk.cwd, "mcpServers": []})
    return {
        "ids": IDS,
        "extension": extension,
        "unknown": unknown,
        "notifications": notifications,
        "quiet": quiet,
        "wrong": [wrong, relative],
        "after": after,
        "alive": await lives(talk),
    }


@step(order=75)
async def unknown_session(talk: Talk) -> Notes:
    """A prompt and a cancellation for a session that is not there."""
    prompt = talk.prompt("nobody", talk.options.prompt)
    await heard(talk, prompt)
    cancel = talk.notify("session/cancel", {"sessionId": "nobody"})
    return {"prompt": prompt, "cancel": cancel, "alive": await talk.is_alive()}
