"""The presentation of a conversation in lines of text: tool calls, diffs, plans, commands, costs."""
