"""The coding agent behind `accord agent`: a small loop of messages, tools and permission, on our own framework.

It knows nothing of the wire. A model is whatever `accord.coder.model.Model` says; the one that is built in needs no
key, and all others are reached through pydantic-ai, which is imported when the first of them is asked.
"""

from __future__ import annotations

from accord.coder.agent import make_agent

__all__ = ["make_agent"]
