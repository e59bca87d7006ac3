"""The dialogs over the conversation: questions, pickers, and long texts."""
