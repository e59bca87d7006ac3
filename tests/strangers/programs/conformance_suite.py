"""The rules of the protocol as pytest tests of an agent, and one verdict by hand."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from accord.check import Options, Report, check_agent, conformance

AGENT = Path(__file__).with_name("echo_agent.py")
PROGRAM = [sys.executable, str(AGENT)]

test_v1: Callable[[str], None] = conformance(PROGRAM, Options(edition="v1", only=("ACP-JSONRPC-001",)))


async def judge() -> Report:
    return await check_agent(PROGRAM, Options(edition="v1", only=("ACP-JSONRPC-001",)))


def main() -> None:
    test_v1("ACP-JSONRPC-001")
    report = asyncio.run(judge())
    assert [outcome.status for outcome in report.outcomes if outcome.rule.id == "ACP-JSONRPC-001"] == ["PASS"]


if __name__ == "__main__":
    main()
