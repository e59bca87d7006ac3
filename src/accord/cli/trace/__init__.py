"""`accord trace` on a screen: a line for each message, counts, findings, and exports into files."""
