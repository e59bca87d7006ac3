"""The screens that lie over the conversation while something is asked or looked at."""
