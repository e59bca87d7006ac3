"""The smallest agent."""

import accord
from accord.agent import Turn

agent = accord.Agent("echo", version="1.0", store=None)


@agent.prompt
async def reply(turn: Turn) -> None:
    turn.add_token_usage(len(turn.text), 3)
    await turn.say(f"You said: {turn.text}")


if __name__ == "__main__":
    agent.run()
