"""The June draft: messages and patches as in v2; turns, diffs and options as in v1; no client capabilities.

It has no forks, no elicitation, no modes and models, no way to cancel single tool calls and terminals, and no files and
terminals of the client.
"""

from accord.protocol import v2_june
from accord.protocol.edition import V2_JUNE
from accord.session.dialect import Dialect
from accord.session.editions.shared.sessions import leftover_commands
from accord.session.editions.v2_june.requests import AGENT, CLIENT, decode_cancel, encode_cancel, stand_in
from accord.session.editions.v2_june.updates import JuneDecoder, JuneEncoder

__all__ = ["DIALECT", "DRAFT_DIALECT", "JuneDecoder", "JuneEncoder"]

DIALECT = Dialect(
    edition=V2_JUNE,
    rule="end",
    echoes=False,
    agent_bindings=AGENT,
    client_bindings=CLIENT,
    encoder=JuneEncoder,
    decoder=JuneDecoder,
    update=v2_june.SESSION_UPDATE,
    encode_update=v2_june.SessionNotification,
    cancel=v2_june.SESSION_CANCEL,
    encode_cancel=encode_cancel,
    decode_cancel=decode_cancel,
    leftover_events=leftover_commands,
    stand_in=stand_in,
)

DRAFT_DIALECT = DIALECT
"""June has no unstable text."""
