"""How a conversation looks in lines of text: tool calls, diffs, plans, commands, costs."""
