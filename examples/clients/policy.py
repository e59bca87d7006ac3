"""A client with its own permission policy: it allows reading, edits below `src/` and Git, and asks for the rest.

`python policy.py "Fix the typo in src/a.py" -- gemini --acp`. The policy also judges the agent's requests for files
and terminals of this client.
"""

import asyncio
import sys

import accord
from accord.session.tool import Diff

RULES = ["allow read", "allow search", "allow edit:src/**", "allow execute:git *", "deny execute:rm *"]


def ask(question: accord.client.PermissionQuestion) -> accord.PermissionOption | None:
    """Show the call and the agent's options; None dismisses the question."""
    print(f"\n{question.title}")
    for item in question.tool.content if question.tool else ():
        for change in item.changes if isinstance(item, Diff) else ():
            print(f"  {change.path}: {len(change.old or '')} → {len(change.new or '')} characters")
    for number, option in enumerate(question.options, 1):
        print(f"  [{number}] {option.name}")
    answer = input("> ")
    return question.options[int(answer) - 1] if answer.isdigit() and 0 < int(answer) <= len(question.options) else None


async def ask_in_thread(question: accord.client.PermissionQuestion) -> accord.PermissionOption | None:
    """The event loop continues while the user decides."""
    return await asyncio.to_thread(ask, question)


async def main(text: str, command: list[str]) -> None:
    """Send one prompt under the policy."""
    policy = accord.Policy(RULES, on_question=ask_in_thread)
    async with accord.connect(*command, permission=policy) as agent:
        session = await agent.new_session()
        turn = await session.prompt(text)
        print(turn.text, f"[{turn.stop_reason}]", sep="\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[3:]))
