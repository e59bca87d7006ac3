"""Peers that are wrong in exactly one way, and conforming ones to compare them with: how a judge is judged.

Importing a room registers its faults in `FAULTS`.
"""

from __future__ import annotations

from accord.testing.faults import (
    clients,
    clients_asking,
    clients_machine,
    june_batches,
    june_handshake,
    june_more,
    june_shared,
    june_turns,
    v1_handshake,
    v1_lines,
    v1_more,
    v1_more_client,
    v1_more_sessions,
    v1_more_turns,
    v1_sessions,
    v1_turns,
    v2_cancelling,
    v2_handshake,
    v2_messages,
    v2_more_lines,
    v2_more_prompts,
    v2_more_sessions,
    v2_more_told,
    v2_notes,
    v2_sessions,
    v2_turns,
    v2_updates,
)
from accord.testing.faults.fault import FAULTS, Fault

__all__ = [
    "FAULTS",
    "Fault",
    "clients",
    "clients_asking",
    "clients_machine",
    "june_batches",
    "june_handshake",
    "june_more",
    "june_shared",
    "june_turns",
    "v1_handshake",
    "v1_lines",
    "v1_more",
    "v1_more_client",
    "v1_more_sessions",
    "v1_more_turns",
    "v1_sessions",
    "v1_turns",
    "v2_cancelling",
    "v2_handshake",
    "v2_messages",
    "v2_more_lines",
    "v2_more_prompts",
    "v2_more_sessions",
    "v2_more_told",
    "v2_notes",
    "v2_sessions",
    "v2_turns",
    "v2_updates",
]
