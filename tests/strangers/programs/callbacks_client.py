"""Every callback of a client, typed by its public name."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import accord
from accord.client import (
    ElicitAnswer,
    ElicitCallback,
    Event,
    FormQuestion,
    LoginCallback,
    Observer,
    PermissionCallback,
    PermissionQuestion,
    Session,
    UrlQuestion,
)
from careful_agent import agent

seen: list[tuple[str, int]] = []
events: list[Event] = []


def permit(question: PermissionQuestion) -> bool:
    return question.title == "Write to notes.md?"


async def fill_in(question: FormQuestion | UrlQuestion) -> ElicitAnswer:
    if isinstance(question, UrlQuestion):
        return question.url.startswith("https://")
    return dict.fromkeys(question.schema["properties"], "Ada")


def choose(methods: Sequence[accord.AuthMethod]) -> str | None:
    return methods[0].id if methods else None


def watch(way: str, text: bytes) -> None:
    seen.append((way, len(text)))


def workspace(session: Session) -> accord.Workspace:
    return accord.Workspace([session.cwd, *session.additional_directories])


async def main() -> None:
    permission: PermissionCallback = permit
    elicit: ElicitCallback = fill_in
    login: LoginCallback = choose
    observer: Observer = watch
    async with accord.connect(
        agent,
        permission=permission,
        elicit=elicit,
        login=login,
        observers=[observer],
        offer=accord.Offer(files=workspace, terminals=False),
        client_info=accord.Implementation("callbacks", "1.0"),
        deadlines=accord.Deadlines(start_seconds=60, idle_seconds=60),
    ) as remote:
        session = await remote.new_session(Path.cwd())
        stop = session.listen(events.append)
        turn = await session.prompt("buy milk", meta={"example.org/trace": "1"})
        stop()
    assert turn.answer == "Ada: Noted."
    assert Path("notes.md").read_text() == "buy milk"
    assert {way for way, _ in seen} == {"in", "out"}
    assert events


if __name__ == "__main__":
    asyncio.run(main())
