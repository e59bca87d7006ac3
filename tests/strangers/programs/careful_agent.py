"""An agent that asks before it writes, and shows what it does."""

import accord
from accord.agent import Elicitation, Permission, Tool, ToolFailed, Turn

agent = accord.Agent("careful", version="1.0", store=None)


async def write_notes(turn: Turn, text: str) -> Permission:
    tool: Tool
    async with turn.tool("Write notes.md", kind="edit", status="pending", locations=["notes.md"]) as tool:
        permission = await turn.request_permission(tool, title="Write to notes.md?")
        if permission:
            await turn.files.write("notes.md", text)
            await tool.diff("notes.md", None, text)
        elif permission.always:
            raise ToolFailed("never again")
    return permission


@agent.prompt(accepts={"resource"})
async def reply(turn: Turn) -> None:
    name = "you"
    if turn.can("elicit"):
        form: Elicitation = await turn.elicit("Who are you?", {"name": {"type": "string"}})
        name = str(form.content.get("name", name))
    await turn.plan(["Ask", accord.PlanEntry("Write", "pending")])
    permission = await write_notes(turn, turn.text)
    turn.new_message()
    await turn.say(f"{name}: {'Noted.' if permission else 'Then not.'}")
    turn.finish("end_turn")


if __name__ == "__main__":
    agent.run()
