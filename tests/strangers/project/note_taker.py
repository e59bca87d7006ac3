"""An agent that keeps notes in a file, if it may."""

import accord

agent = accord.Agent("note-taker", version="1.0")


@agent.prompt
async def take_note(turn: accord.agent.Turn) -> None:
    """Append what was said to notes.md."""
    permission = await turn.request_permission("Write to notes.md?")
    if not permission:
        await turn.say("Then not.")
        return
    await turn.files.write("notes.md", await turn.files.read("notes.md") + f"- {turn.text}\n")
    await turn.say("Noted.")


if __name__ == "__main__":
    agent.run()
