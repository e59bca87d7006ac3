"""A client with rules, and a user who is asked where they say so."""

import asyncio
import sys
from pathlib import Path

import accord
from accord.client import PermissionAnswer, PermissionQuestion, Rule, Verdict

AGENT = Path(__file__).with_name("careful_agent.py")
verdicts: list[Verdict] = []


async def user(question: PermissionQuestion) -> PermissionAnswer:
    assert question.tool is not None
    return question.option("allow_once") or question.reject()


def noted(verdict: Verdict) -> None:
    verdicts.append(verdict)


async def main() -> None:
    policy = accord.Policy(["allow read", "ask edit:*.md", "deny all"], on_question=user, on_verdict=noted)
    rules: tuple[Rule, ...] = policy.rules
    assert [rule.effect for rule in rules] == ["allow", "ask", "deny"]
    async with accord.connect(sys.executable, AGENT, permission=policy) as agent:
        session = await agent.new_session(Path.cwd())
        turn = await session.prompt("buy milk")
    assert turn.answer == "you: Noted."
    assert verdicts[0].by == "user"
    assert verdicts[0].is_allowed


if __name__ == "__main__":
    asyncio.run(main())
