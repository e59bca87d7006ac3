"""How the June draft says and hears what happens in a session: messages as in v2; turns, diffs, options as in v1."""

from accord.session.dialect_v2_june.content import block_in, block_out, blocks_in, blocks_out
from accord.session.dialect_v2_june.dialect import DIALECT, DRAFT_DIALECT
from accord.session.dialect_v2_june.ear import Ear
from accord.session.dialect_v2_june.option import commands_in, commands_out, options_in, options_out
from accord.session.dialect_v2_june.tool import tool_in, tool_out
from accord.session.dialect_v2_june.voice import Voice

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
