"""An agent that requires a login: by a call, or by running this program in a terminal. It can also log out.

Name it in an editor's settings,

    "agent_servers": {"Member": {"type": "custom", "command": "python", "args": ["/path/to/login.py"]}}

and the editor offers the ways to log in. From Python:

    async with accord.connect("python", "examples/agents/login.py", login=lambda methods: "guest") as agent:
        print((await (await agent.new_session()).prompt("who am I?")).text)
"""

import os
import sys

import accord
from accord.stores import default_path

TOKEN = default_path("member").with_name("token")

agent = accord.Agent("member", version="1.0")
agent.terminal_login("terminal", "Log in by name", args=["--login"], description="Asks for your name in a terminal")


@agent.login("guest", "Go on as a guest")
def log_in_as_guest() -> None:
    """Called when the user chooses this method; an exception, or False, means that it failed."""
    keep("guest")


@agent.check_login
def logged_in() -> bool:
    """Called before every session is opened. Without a login the client gets `AuthRequired`."""
    return TOKEN.exists()


@agent.logout
def log_out() -> None:
    """Sessions that are open stay open; the next one needs a login."""
    TOKEN.unlink(missing_ok=True)


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    """A login may also end while a session is open."""
    if not logged_in():
        raise accord.AuthRequired("Your login is over")
    await turn.say(f"You are {TOKEN.read_text(encoding='utf-8')}.")


def keep(name: str) -> None:
    """Write the token to a file that only the user may read."""
    TOKEN.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(TOKEN, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(name)


if __name__ == "__main__":
    if "--login" in sys.argv:
        keep(input("Your name: ").strip() or "stranger")
    else:
        agent.run()
