"""The exceptions of this package, with the file, the key and the expected value, or the name and similar names.

AccordError
├── ConfigError       a file that cannot be used: all its problems, the first one as attributes
├── UnknownAgent      no such name: suggestions for it
├── NotInstalled      an agent of the catalogue whose program is not on this machine: how to install it
├── UntrustedFile     a project's file that is not trusted yet names the command
├── RegistryError     a registry that cannot be read, or an agent of it that cannot run here
├── DownloadError     an address that cannot be fetched within the limits
└── FleetFailed       none of several agents started
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from accord.errors import AccordError

__all__ = [
    "ConfigError",
    "DownloadError",
    "FleetFailed",
    "NotInstalled",
    "Problem",
    "RegistryError",
    "UnknownAgent",
    "UntrustedFile",
]


class Problem(NamedTuple):
    """One problem in a file: the path of keys (empty: the file itself), and the expected value."""

    key: str
    expected: str

    def __str__(self) -> str:
        return f"{self.key}: expected {self.expected}" if self.key else f"expected {self.expected}"


class ConfigError(AccordError):
    """A config file, or an entry of it, that cannot be used; `key` and `expected` are those of the first problem."""

    def __init__(self, path: str, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(f"{path}: {problem}" for problem in problems))
        self.path = path
        self.problems = tuple(problems)
        self.key, self.expected = problems[0]


class UnknownAgent(AccordError):
    """No agent of this name; `suggestions` are names that may have been meant, `known` are all."""

    def __init__(
        self, name: str, *, suggestions: Sequence[str] = (), known: Sequence[str] = (), hint: str = ""
    ) -> None:
        sentence = f"there is no agent {name!r}"
        if suggestions:
            sentence += f"; did you mean {' or '.join(suggestions)}?"
        elif known:
            sentence += f"; known are {', '.join(known)}"
        super().__init__(f"{sentence} ({hint})" if hint else sentence)
        self.name = name
        self.suggestions = tuple(suggestions)
        self.known = tuple(known)


class NotInstalled(AccordError):
    """An agent of the catalogue that cannot be started here; the message says what to type."""

    def __init__(self, name: str, advice: str) -> None:
        super().__init__(advice)
        self.name = name


class UntrustedFile(AccordError):
    """A command from a project's file that the user has not trusted: a cloned repository must not start programs."""

    def __init__(self, path: str, argv: Sequence[str]) -> None:
        super().__init__(f"{path} is not trusted: it wants to run {shown(argv) or 'a program'}")
        self.path = path
        self.argv = tuple(argv)


def shown(argv: Sequence[str]) -> str:
    """A command for people, without control characters."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in shlex.join(argv))


class RegistryError(AccordError):
    """The registry at `address` cannot be used, or the agent `agent` of it cannot run on this machine."""

    def __init__(self, message: str, *, address: str = "", agent: str = "") -> None:
        super().__init__(message)
        self.address = address
        self.agent = agent


class DownloadError(AccordError):
    """An address that could not be fetched; `reason` is `refused`, `large`, `slow`, `failed`, `digest` or `archive`."""

    def __init__(self, address: str, message: str, *, reason: str) -> None:
        super().__init__(f"{address}: {message}")
        self.address = address
        self.reason = reason


class FleetFailed(AccordError):
    """None of the agents started; `failures` says why, by name."""

    def __init__(self, failures: Mapping[str, Exception]) -> None:
        reasons = "; ".join(f"{name}: {error}" for name, error in failures.items())
        super().__init__(f"no agent came up: {reasons or 'there is none in the config'}")
        self.failures = dict(failures)
