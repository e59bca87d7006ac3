"""The conformance checker: judges whether an agent or a client keeps the protocol."""

from __future__ import annotations

from accord.check.agent import check_agent, editions_of
from accord.check.client import check_client
from accord.check.engine.address import AgentAddress, JudgedAgent
from accord.check.engine.judging import Progress
from accord.check.engine.outcome import Finding, Judgement, Outcome, Report, Status
from accord.check.engine.process import Peer, Program
from accord.check.engine.record import Entry, Record
from accord.check.options import Options
from accord.check.rule import Cause, CheckRule, EditionName, Side, Tier
from accord.check.rules import CAUSES, RULES
from accord.check.suite import conformance

__all__ = [
    "CAUSES",
    "RULES",
    "AgentAddress",
    "Cause",
    "CheckRule",
    "EditionName",
    "Entry",
    "Finding",
    "JudgedAgent",
    "Judgement",
    "Options",
    "Outcome",
    "Peer",
    "Program",
    "Progress",
    "Record",
    "Report",
    "Side",
    "Status",
    "Tier",
    "check_agent",
    "check_client",
    "conformance",
    "editions_of",
]
