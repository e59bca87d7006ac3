"""An agent that changes a file, but shows the change and asks first.

Name it in an editor's settings,

    "agent_servers": {"Replacer": {"type": "custom", "command": "python", "args": ["/path/to/permission.py"]}}

and say, in a folder with a `notes.txt`: replace colour by color in notes.txt
"""

import re

import accord
from accord.workspace import NoSuchFile

REQUEST = re.compile(r"replace (?P<old>\S+) by (?P<new>\S+) in (?P<path>\S+)")
OPTIONS = (
    accord.PermissionOption("yes", "Change it", "allow_once"),
    accord.PermissionOption("always", "Change it, and do not ask again here", "allow_always"),
    accord.PermissionOption("no", "Leave it", "reject_once"),
)

agent = accord.Agent("replacer", version="1.0")


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    """Understand the request and carry it out."""
    request = REQUEST.fullmatch(turn.text.strip())
    if request is None:
        await turn.say("Say for example: replace colour by color in notes.txt")
        return
    path = request["path"]
    try:
        before = await turn.files.read(path)
    except NoSuchFile:
        await turn.say(f"There is no {path}.")
        return
    changed = await change(turn, path, before, before.replace(request["old"], request["new"]))
    await turn.say(f"I changed {path}." if changed else f"I left {path} as it was.")


async def change(turn: accord.agent.Turn, path: str, before: str, after: str) -> bool:
    """Show the change, ask, make it. A call that was not allowed ends as cancelled by itself."""
    async with turn.tool(f"Edit {path}", kind="edit", status="pending", locations=[path]) as tool:
        await tool.diff(path, before, after)
        if not await allowed(turn, tool):
            return False
        await turn.files.write(path, after)
    return not tool.failed


async def allowed(turn: accord.agent.Turn, tool: accord.agent.Tool) -> bool:
    """Ask, unless the user said once that it is not necessary: what "always" means is the agent's business."""
    if turn.session.state == {"always": True}:
        await tool.update(status="in_progress")
        return True
    permission = await turn.request_permission(tool, options=OPTIONS)
    if permission and permission.always:
        await turn.save({"always": True})
    return permission.allowed


if __name__ == "__main__":
    agent.run()
