"""A client with its own permission policy: it reads freely, edits below `src/`, runs Git, and asks about the rest.

`python policy.py "Fix the typo in src/a.py" -- gemini --acp`. The files and commands that the agent wants from this
client pass the policy too.
"""

import asyncio
import sys

import accord
from accord.session.tool import Diff

RULES = ["allow read", "allow search", "allow edit:src/**", "allow execute:git *", "deny execute:rm *"]


def ask(question: accord.client.PermissionQuestion) -> accord.PermissionOption | None:
    """Show what the agent wants to do, with its own answers; None dismisses the question."""
    print(f"\n{question.title}")
    for item in question.tool.content if question.tool else ():
        for change in item.changes if isinstance(item, Diff) else ():
            print(f"  {change.path}: {len(change.old or '')} → {len(change.new or '')} characters")
    for number, option in enumerate(question.options, 1):
        print(f"  [{number}] {option.name}")
    answer = input("> ")
    return question.options[int(answer) - 1] if answer.isdigit() and 0 < int(answer) <= len(question.options) else None


async def ask_in_thread(question: accord.client.PermissionQuestion) -> accord.PermissionOption | None:
    """The event loop goes on while the user thinks."""
    return await asyncio.to_thread(ask, question)


async def main(text: str, command: list[str]) -> None:
    """One prompt under the policy."""
    policy = accord.Policy(RULES, on_question=ask_in_thread)
    async with accord.connect(*command, permission=policy) as agent:
        session = await agent.new_session()
        turn = await session.prompt(text)
        print(turn.text, f"[{turn.stop_reason}]", sep="\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[3:]))
