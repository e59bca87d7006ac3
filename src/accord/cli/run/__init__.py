"""`accord run`: one prompt, and its output in one of four forms: text, the answer alone, events, wire."""
