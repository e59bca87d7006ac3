"""The rules of the transport for served agents, the runner of their steps, and the rules that only programs keep."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

from accord.check.agent.remote import http_requests, http_streams, websocket_messages
from accord.check.agent.remote.endpoint import BESIDE, LATE, REMOTE_STEPS, Endpoint
from accord.check.agent.remote.raw_sockets import JSON, HttpAnswer, RawSocket, open_socket
from accord.check.engine.evidence import Evidence, Inconclusive, Record, StepFailed, StepResult, has_path
from accord.check.engine.judging import PROBLEMS, CheckStep, Progress, unexpected
from accord.check.engine.program import AgentAddress, JudgedAgent
from accord.check.rule import CheckRule, Options

__all__ = ["REMOTE_STEPS", "RULES", "not_for", "run_remote"]

RULES: tuple[CheckRule, ...] = tuple(
    rule for topic in (http_requests, http_streams, websocket_messages) for rule in topic.RULES
)
"""Every rule of the transport; an id is the same rule in every edition."""
_SUCCESS = 2


class _Offer:
    """The transports of an endpoint: the one of the address, and the other one where the same address has it."""

    def __init__(self) -> None:
        self.http = self.websocket = ""
        """The reasons why one of them is not judged."""

    async def find(self, endpoint: Endpoint) -> None:
        if endpoint.address.is_websocket:
            self.http = await self._missing_http(endpoint)
        else:
            self.websocket = await self._missing_websocket(endpoint)

    async def _missing_http(self, endpoint: Endpoint) -> str:
        try:
            answer = await endpoint.http.request("POST", JSON, endpoint.initialize)
        except StepFailed:
            return "the address does not answer a POST"
        if "acp-connection-id" in answer.headers:
            await endpoint.http.request("DELETE", {"Acp-Connection-Id": answer.headers["acp-connection-id"]})
        return "" if answer.status // 100 == _SUCCESS else f"the address answers {answer.status} to a POST"

    async def _missing_websocket(self, endpoint: Endpoint) -> str:
        try:
            socket: RawSocket | HttpAnswer = await open_socket(endpoint.http, lambda _: None)
        except StepFailed:
            return "the address does not answer an upgrade"
        if isinstance(socket, HttpAnswer):
            return f"the address answers {socket.status} to an upgrade"
        await socket.close()
        return ""

    def reason(self, group: str) -> str:
        """Why steps of a group are not played; "" where they are."""
        return {"http": self.http, "websocket": self.websocket}.get(group, "")


async def run_remote(
    address: AgentAddress,
    options: Options,
    folder: Path,
    steps: Sequence[CheckStep],
    evidence: Evidence,
    progress: Progress,
) -> None:
    """Run the steps for the rules of the transport, each on sockets of its own; their results are in the evidence."""
    if not steps:
        return
    offer = _Offer()
    endpoint = Endpoint(address, options, folder)
    try:
        await offer.find(endpoint)
    finally:
        await endpoint.close()
    slots = asyncio.Semaphore(options.jobs)
    done = 0

    async def run(step: CheckStep) -> None:
        nonlocal done
        async with nullcontext() if step.order <= BESIDE else slots:
            progress(step.name, done, len(steps))
            await _run_step(step, address, options, folder, evidence, offer)
            done += 1

    for is_late in (False, True):
        chosen = [step for step in steps if (step.order >= LATE) is is_late]
        for failure in await asyncio.gather(*map(run, chosen), return_exceptions=True):
            if isinstance(failure, BaseException):
                raise failure


async def _run_step(
    step: CheckStep, address: AgentAddress, options: Options, folder: Path, evidence: Evidence, offer: _Offer
) -> None:
    gate = step.gate.get(options.edition, "")
    missing = f"not advertised: {gate}" if gate and not has_path(evidence.advertised, gate) else ""
    if reason := missing or offer.reason(step.group):
        evidence.skipped[step.name] = reason
        return
    endpoint = Endpoint(address, options, folder)
    endpoint.has_http, endpoint.has_websocket = not offer.http, not offer.websocket
    entries = endpoint.record.entries
    run = evidence.steps[step.name] = StepResult(step.name, entries, 0, 0)
    try:
        run.notes = await step.run(endpoint)
    except StepFailed as failure:
        run.failure = failure
    except Inconclusive as skipped:
        evidence.skipped[step.name] = str(skipped)
    except PROBLEMS as error:
        run.failure = StepFailed(unexpected("agent", error))
    finally:
        run.end = len(entries)
        with suppress(OSError):
            await endpoint.close()
    evidence.exchanges.append(Record(step.name, entries, b"", b"", "itself", None))


# --- rules that only a program on pipes can keep or break: they are skipped for an agent at an address

_PROCESS = "it is about a process, and this agent is at an address"
_LINES = "it is about lines on stdin and stdout, and this agent is at an address"
_MACHINE = "it starts a program on the agent's machine, which a host may refuse"
_FOLDER = "a host may have a directory for sessions that name none"
_FIRST = "a connection to an address begins with `initialize`: see ACCORD-REMOTE-004 and ACCORD-REMOTE-109"
_ARRAYS = "one message is sent to an address at a time, and servers refuse arrays"
_AGAIN = "over HTTP every `initialize` opens a connection of its own"

PROCESS_RULES: dict[str, str] = {
    "ACP-SHUTDOWN-001": _PROCESS,
    "ACP-STDERR-001": _PROCESS,
    "ACCORD-EXIT-001": _PROCESS,
    "ACCORD-EXIT-002": _PROCESS,
    "ACCORD-EXIT-201": _PROCESS,
    "ACCORD-EXIT-202": _PROCESS,
    "ACCORD-MCP-001": _MACHINE,
    "ACCORD-MCP-002": _MACHINE,
    "ACCORD-MCP-003": _MACHINE,
    "ACCORD-SESSION-202": _FOLDER,
    "ACCORD-VALID-001": _FOLDER,
    "ACCORD-INIT-001": _FIRST,
    "ACCORD-INIT-002": _FIRST,
    "ACCORD-INIT-201": _FIRST,
    "ACCORD-INIT-202": _FIRST,
    "ACCORD-INIT-204": _FIRST,
    "ACP-BATCH-202": _ARRAYS,
    "ACP-BATCH-203": _ARRAYS,
    "ACP-BATCH-204": _ARRAYS,
    "ACP-BATCH-205": _ARRAYS,
    "ACP-TRANSPORT-203": _LINES,
    "ACCORD-WIRE-008": _LINES,
    "ACCORD-WIRE-209": _LINES,
}
"""The reason for each."""
_OVER_HTTP = {"ACCORD-INIT-209": _AGAIN}


def not_for(program: JudgedAgent, rule_id: str) -> str:
    """The reason why a rule is not judged for an agent; "" where it is."""
    if not isinstance(program, AgentAddress):
        return ""
    return PROCESS_RULES.get(rule_id) or ("" if program.is_websocket else _OVER_HTTP.get(rule_id, ""))
