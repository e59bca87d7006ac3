"""A client that stops an agent, and one that handles every kind of error."""

import asyncio
import sys

import accord
from accord.agent import Turn

agent = accord.Agent("slow", version="1.0", store=None)


@agent.prompt
async def reply(turn: Turn) -> None:
    if turn.text == "fail":
        raise accord.RateLimited(30, "Too many prompts")
    await turn.say("I begin.")
    await asyncio.Event().wait()


async def main() -> None:
    async with accord.connect(agent) as remote:
        session = await remote.new_session()
        async with session.prompt("work") as turn:
            async for piece in turn.text_stream():
                assert piece == "I begin."
                turn.cancel()
        assert turn.stop_reason == "cancelled"
        try:
            await session.prompt("fail")
        except accord.RateLimited as error:
            assert error.retry_after == 30
        except accord.RequestError as error:
            raise AssertionError(error.code) from error
    try:
        async with accord.connect(sys.executable, "-c", "raise SystemExit(3)"):
            raise AssertionError("it started")
    except accord.ConnectionLost as error:
        assert error.exit_status == 3
    try:
        accord.connect("wss://example.org/acp")
    except ValueError as error:
        assert "address" in str(error)


if __name__ == "__main__":
    asyncio.run(main())
