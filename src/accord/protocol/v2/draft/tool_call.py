"""Tool calls: what an agent does, and how far it is."""

from accord.protocol.v2.tool_call import ToolCallUpdate


class ToolCallUpdated(ToolCallUpdate, tag_field="sessionUpdate", tag="tool_call_update"):
    """Patches a known call; in the v2 drafts the first one for an id creates it."""
