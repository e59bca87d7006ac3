"""`connect_to`: an entry of the config as options of `accord.connect`, with deadlines, policy and dialect."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accord.client import ConnectedAgent, Deadlines, connect
from accord.client.question import PermissionCallback
from accord.config.entry import AgentEntry
from accord.config.errors import ConfigError, DownloadError, Problem, RegistryError, UntrustedFile
from accord.config.permission import permission_for
from accord.dialects import load_dialect
from accord.transport.remote import RemoteOptions

__all__ = ["connect_to", "deadlines_of", "remote_options_of"]


def deadlines_of(entry: AgentEntry) -> Deadlines:
    """The deadlines of the agent. `timeoutMs` limits silence: every sign of life restarts it."""
    return Deadlines(
        start_seconds=entry.start_seconds, first_seconds=entry.idle_seconds, idle_seconds=entry.idle_seconds
    )


def connect_to(
    entry: AgentEntry,
    *,
    on_question: PermissionCallback | None = None,
    connect: Callable[..., ConnectedAgent] = connect,
    **options: Any,
) -> ConnectedAgent:
    """The agent of an entry, not yet opened. `options` are those of `connect` and override the config.

    `on_question` answers permission requests where the entry's policy is `prompt`, or where it has none.

    Raises:
        RegistryError: It has no command, because the registry was not read.
        UntrustedFile: Its command comes from a project's file that is not trusted.
        DownloadError: Its program is not installed, or the user was not asked whether it may be downloaded.
        ConfigError: A file that it names for its address cannot be used.
        ValueError: Its address or a header is not usable.
    """
    if entry.needs_trust:
        raise UntrustedFile(entry.source, entry.argv)
    if not entry.argv:
        raise RegistryError(f"{entry.name!r} has no command before the registry was asked: find it by its name")
    if entry.asks_download:
        sentence = "this downloads the agent and runs it: ask the user, then use `replace(entry, asks_download=False)`"
        raise DownloadError(entry.source, sentence, reason="refused")
    if entry.runs_outside and entry.cwd is not None:
        Path(entry.cwd).mkdir(mode=0o700, parents=True, exist_ok=True)
    if entry.download is not None:
        raise DownloadError(entry.download.address, "the program is not installed yet", reason="failed")
    chosen: dict[str, Any] = {
        "program_cwd": entry.cwd,
        "env": dict(entry.env),
        "deadlines": deadlines_of(entry),
        "permission": permission_for(entry.permission_policy, on_question),
        **_remote_arguments(entry),
    }
    for name in ("edition", "framing"):
        if getattr(entry, name) is not None:
            chosen[name] = getattr(entry, name)
    agent = connect(*entry.argv, **{**chosen, **options})
    return agent if entry.dialect is None else agent.use_dialect(load_dialect(entry.dialect))


def remote_options_of(entry: AgentEntry) -> RemoteOptions:
    """The token, the headers and the TLS context of an entry's address.

    Raises:
        ConfigError: A file that it names for its address cannot be used.
    """
    arguments = _remote_arguments(entry)
    return RemoteOptions(
        headers=arguments.get("headers", {}), token=arguments.get("token") or None, tls=arguments.get("tls")
    )


def _remote_arguments(entry: AgentEntry) -> dict[str, Any]:
    """The options of an entry's address. Without a token of its own it has none: others are for other addresses."""
    if entry.address is None:
        return {}
    chosen: dict[str, Any] = {"headers": entry.headers, "token": _token(entry)}
    if entry.ca_file is not None:
        try:
            chosen["tls"] = ssl.create_default_context(cafile=entry.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(entry.source, [Problem(f"{entry.name}.caFile", "a file of certificates")]) from error
    return chosen


def _token(entry: AgentEntry) -> str:
    if entry.token_env is not None:
        return os.environ.get(entry.token_env, "").strip()
    if entry.token_file is None:
        return ""
    try:
        return Path(entry.token_file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(entry.source, [Problem(f"{entry.name}.tokenFile", "a file with a token")]) from error
