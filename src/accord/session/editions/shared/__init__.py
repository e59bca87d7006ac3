"""Conversions that differ between editions by nothing but the types: each takes an edition's module of types.

The types are `Any` here, because no edition may be imported; the round trips of `tests/session` prove every field. An
edition overrides what it does differently in its own package.
"""
