"""Conversions that differ between editions by nothing but the types: each takes an edition's module of types.

The types are `Any` here, because no edition may be imported; the round trips of `tests/session` prove every field. What
an edition does in another way, it overrides in its own package.
"""
