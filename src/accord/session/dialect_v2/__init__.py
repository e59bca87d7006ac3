"""How v2 says and hears the events of a session, and how it asks: the core's words are its own, nearly all of them."""

from accord.session.dialect_v2.content import block_in, block_out, blocks_in, blocks_out
from accord.session.dialect_v2.dialect import DIALECT, DRAFT_DIALECT
from accord.session.dialect_v2.ear import Ear
from accord.session.dialect_v2.option import commands_in, commands_out, options_in, options_out
from accord.session.dialect_v2.tool import tool_in, tool_out
from accord.session.dialect_v2.voice import Voice

__all__ = [
    "DIALECT",
    "DRAFT_DIALECT",
    "Ear",
    "Voice",
    "block_in",
    "block_out",
    "blocks_in",
    "blocks_out",
    "commands_in",
    "commands_out",
    "options_in",
    "options_out",
    "tool_in",
    "tool_out",
]
