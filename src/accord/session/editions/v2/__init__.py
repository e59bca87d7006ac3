"""v2, whose events and requests are nearly all those of the core."""

from dataclasses import replace

from accord.protocol import v2
from accord.protocol.edition import V2
from accord.session.dialect import Dialect
from accord.session.editions.v2.requests import AGENT, CLIENT, DRAFTS, ELICITATION, decode_cancel, encode_cancel
from accord.session.editions.v2.updates import DRAFT_SESSION_UPDATE, V2Decoder, V2DraftEncoder, V2Encoder

__all__ = ["DIALECT", "DRAFT_DIALECT", "V2Decoder", "V2DraftEncoder", "V2Encoder"]

DIALECT = Dialect(
    edition=V2,
    rule="insertion",
    echoes=True,
    agent_bindings=AGENT,
    client_bindings=CLIENT,
    encoder=V2Encoder,
    decoder=V2Decoder,
    update=v2.SESSION_UPDATE,
    encode_update=v2.UpdateSessionNotification,
    cancel=v2.SESSION_CANCEL,
    encode_cancel=encode_cancel,
    decode_cancel=decode_cancel,
    elicitation_done=v2.ELICITATION_COMPLETE,
    encode_elicitation_done=ELICITATION.encode_done,
    decode_elicitation_done=ELICITATION.decode_done,
    draft_bindings=DRAFTS,
)

DRAFT_DIALECT = replace(
    DIALECT, encoder=V2DraftEncoder, update=DRAFT_SESSION_UPDATE, draft_methods=(DRAFT_SESSION_UPDATE,)
)
"""The same with the fields of the unstable text."""
