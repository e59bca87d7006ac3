"""How v1 says and hears the events of a session, and asks and answers.

Its lists are closed; it has no whole messages, one plan, and the client's files and terminals.
"""

from accord.session.dialect_v1.content import block_in, block_out, blocks_in, blocks_out
from accord.session.dialect_v1.dialect import DIALECT, DRAFT_DIALECT
from accord.session.dialect_v1.ear import Ear
from accord.session.dialect_v1.option import commands_in, commands_out, options_in, options_out
from accord.session.dialect_v1.tool import tool_in, tool_out
from accord.session.dialect_v1.voice import Voice

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
