"""An agent with modes, options, a command and a login, talked to in this very process."""

import asyncio

import accord
from accord.agent import Session, Turn

agent = accord.Agent("settings", version="1.0", store=accord.MemoryStore())
agent.modes(["ask", accord.Choice("code", "Write code")], default="ask")
agent.select("size", "Size", ["small", "large"])
agent.toggle("loud", "Loud")
tokens: list[str] = []
opened: list[str] = []
changes: list[tuple[str, str | bool]] = []


@agent.login("browser", "In the browser")
async def log_in() -> None:
    tokens.append("token")


@agent.check_login
def has_token() -> bool:
    return bool(tokens)


@agent.logout
def log_out() -> None:
    tokens.clear()


@agent.on_session
async def prepare(session: Session) -> None:
    opened.append(session.id)


@agent.on_option
async def note(session: Session, option_id: str, value: str | bool) -> None:
    changes.append((option_id, value))


@agent.command("sum", "Add numbers", hint="NUMBERS")
async def add(turn: Turn, argument: str) -> None:
    await turn.say(str(sum(int(each) for each in argument.split())))


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"{turn.option('mode')} {turn.option('size')}")


async def main() -> None:
    async with accord.connect(agent, login=lambda methods: methods[0].id) as remote:
        session = await remote.new_session()
        await session.set_mode("code")
        await session.set_option("size", "large")
        assert (await session.prompt("What now?")).answer == "code large"
        assert (await session.prompt("/sum 1 2 3")).text == "6"
        assert opened == [session.id]
        assert changes == [("mode", "code"), ("size", "large")]
        await remote.logout()
    assert tokens == []


if __name__ == "__main__":
    asyncio.run(main())
