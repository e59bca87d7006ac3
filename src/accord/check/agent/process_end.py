"""Stderr, and the end of the process when its stdin is closed."""

from __future__ import annotations

from accord.check.agent.conversation import AgentConversation, step
from accord.check.agent.queries import completed
from accord.check.engine.evidence import Evidence, Skipped, Violation, skip_if
from accord.check.engine.judging import Notes, judge
from accord.check.engine.record import Record, is_update
from accord.check.rule import V1_JUNE, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-EXIT-001", "AA-", "transports", gate="session",
        says="The process ends by itself when its stdin is closed, also while a turn runs"),
    RuleRow("ACCORD-EXIT-002", "II-", "transports", gate="session",
        says="With which status the process ends whose client goes away while it works"),
    RuleRow("ACCORD-EXIT-201", "--A", "transports", gate="session",
        says="An agent ends when its stdin ends, also in the middle of a turn"),
    RuleRow("ACCORD-EXIT-202", "--I", "transports", gate="session",
        says="With which status an agent ends when its stdin ends during a turn"),
    RuleRow("ACP-SHUTDOWN-001", "AAA", "transports", "The process ends by itself when its stdin is closed"),
    RuleRow("ACP-STDERR-001", "III", "transports", "What is said on stderr"),
)
# fmt: on


@step("own", editions=V1_JUNE)
async def exit_while_busy(agent: AgentConversation) -> Notes:
    """A turn that runs when its client goes away: the end of the process is the end of stdin."""
    await agent.handshake()
    session = await agent.new()
    since = agent.now
    prompt = await agent.begin(session)
    said = [entry for entry in agent.wire.entries[since:] if is_update(entry.message, session)]
    return {"session": session, "prompt": prompt, "said": len(said)}


@judge("ACP-SHUTDOWN-001", steps=("meet",))
def the_process_ends_when_its_stdin_is_closed(evidence: Evidence) -> str | None:
    record = next((record for record in evidence.records if record.name.endswith("meet")), None)
    if record is None or record.ended_by == "itself":
        raise Skipped("the process had ended before")
    if record.ended_by != "closed stdin":
        seconds = evidence.options.grace_seconds
        raise Violation(
            f"it was still there {seconds:g} s after its stdin was closed, and was ended by {record.ended_by}"
        )
    return None if record.status == 0 else f"its exit status is {record.status}"


@judge("ACP-STDERR-001", steps=("meet", "turns"))
def what_is_said_on_stderr(evidence: Evidence) -> str:
    said = [len(record.stderr) for record in evidence.records if record.stderr]
    if not said:
        return "nothing"
    return f"{sum(said)} bytes, by {len(said)} of {len(evidence.records)} processes"


@judge("ACCORD-EXIT-001", steps=("exit_while_busy",))
def it_ends_with_stdin_also_while_it_works(evidence: Evidence) -> None:
    run = completed(evidence, "exit_while_busy")
    skip_if(run.answers(run["prompt"]), "the turn ended before stdin was closed: give --cancel-prompt")
    for record in evidence.records:
        if record.entries is not run.entries and record.ended_by.startswith("SIG"):
            raise Skipped("it does not end either when it has nothing to do")
    record = next(record for record in evidence.records if record.entries is run.entries)
    if record.ended_by.startswith("SIG"):
        raise Violation(f"it took {record.ended_by} to end it", run.request_entry(run["prompt"]))


@judge("ACCORD-EXIT-002", steps=("exit_while_busy",))
def with_what_status_it_ends(evidence: Evidence) -> str:
    run = completed(evidence, "exit_while_busy")
    record = next(record for record in evidence.records if record.entries is run.entries)
    return f"status {record.status} after {record.ended_by}"


@judge("ACCORD-EXIT-201", steps=("v2_only_links",))
def it_ends_in_the_middle_of_a_turn(evidence: Evidence) -> None:
    record = _left(evidence)
    if record.ended_by != "closed stdin":
        raise Violation(f"it was not the end of stdin that ended it, but {record.ended_by}")


@judge("ACCORD-EXIT-202", steps=("v2_only_links",))
def the_status_of_an_agent_that_was_left(evidence: Evidence) -> str:
    record = _left(evidence)
    return f"status {record.status} (after {record.ended_by})"


def _left(evidence: Evidence) -> Record:
    """The process that was left in the middle of a turn."""
    evidence.step("v2_only_links")
    return next(record for record in evidence.records if record.name.endswith(" v2_only_links"))
