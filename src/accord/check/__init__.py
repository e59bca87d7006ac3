"""The judge: does this agent, does this client, keep the protocol?"""

from __future__ import annotations

from accord.check.agent import check_agent
from accord.check.client import check_client
from accord.check.link import Peer, Program
from accord.check.meeting import editions_of
from accord.check.options import Options
from accord.check.outcome import Finding, Judgement, Outcome, Report
from accord.check.rule import Cause, Rule
from accord.check.rules import CAUSES, RULES

__all__ = [
    "CAUSES",
    "RULES",
    "Cause",
    "Finding",
    "Judgement",
    "Options",
    "Outcome",
    "Peer",
    "Program",
    "Report",
    "Rule",
    "check_agent",
    "check_client",
    "editions_of",
]
