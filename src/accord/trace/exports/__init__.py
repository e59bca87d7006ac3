"""Exports: a trace, or the selected part of it, in the formats of other tools and for people."""
