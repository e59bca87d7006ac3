"""v1: closed lists, messages in chunks alone, one plan, and the client's files and terminals."""

from dataclasses import replace

from accord.protocol import v1
from accord.protocol.edition import V1
from accord.protocol.v1 import draft
from accord.session.dialect import Dialect
from accord.session.editions.shared.sessions import leftover_commands
from accord.session.editions.v1.requests import (
    AGENT,
    CLIENT,
    DRAFT_AGENT,
    DRAFTS,
    ELICITATION,
    decode_cancel,
    encode_cancel,
)
from accord.session.editions.v1.tools import stand_in
from accord.session.editions.v1.updates import V1Decoder, V1Encoder

__all__ = ["DIALECT", "DRAFT_DIALECT", "V1Decoder", "V1Encoder"]

DIALECT = Dialect(
    edition=V1,
    rule="end",
    echoes=False,
    agent_bindings=AGENT,
    client_bindings=CLIENT,
    encoder=V1Encoder,
    decoder=V1Decoder,
    update=v1.SESSION_UPDATE,
    encode_update=v1.SessionNotification,
    cancel=v1.SESSION_CANCEL,
    encode_cancel=encode_cancel,
    decode_cancel=decode_cancel,
    baseline_transports=frozenset({"stdio"}),
    leftover_events=leftover_commands,
    stand_in=stand_in,
    elicitation_done=v1.ELICITATION_COMPLETE,
    encode_elicitation_done=ELICITATION.encode_done,
    decode_elicitation_done=ELICITATION.decode_done,
    draft_bindings=DRAFTS,
)

DRAFT_DIALECT = replace(DIALECT, agent_bindings=DRAFT_AGENT, draft_methods=(draft.SESSION_PROMPT,))
"""The same with the fields of the unstable text."""
