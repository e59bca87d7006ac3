"""The coding agent behind `accord agent`: a small loop of messages, tools and permission, on our own framework.

The wire is not known here. A model implements `accord.coder.model.Model`; the built-in one needs no key, and all others
are reached through pydantic-ai, which is imported when the first of them is asked.
"""

from __future__ import annotations

from accord.coder.agent import make_agent

__all__ = ["make_agent"]
