"""`accord.connect`: one function for every kind of agent."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from accord.client.agent import ConnectedAgent
from accord.client.deadline import Deadlines
from accord.client.launch import AgentLauncher, InProcessAgent, StrPath
from accord.client.login import LoginCallback
from accord.client.question import ElicitCallback, PermissionCallback
from accord.client.services import Offer, Serving
from accord.connection.sender import Observer
from accord.session.capability import Implementation
from accord.session.dialect import EditionChoice
from accord.transport.interface import Transport
from accord.transport.remote import RemoteOptions
from accord.version import VERSION
from accord.wire import Framing

if TYPE_CHECKING:
    from accord.trace.writer import TraceWriter

__all__ = ["CommonOptions", "ConnectOptions", "StrPath", "connect"]


class CommonOptions(TypedDict, total=False):
    """The options of `accord.connect` that `accord.testing.join` takes as they are."""

    edition: EditionChoice
    program_cwd: StrPath | None
    env: Mapping[str, str | None] | None
    framing: Framing
    stderr: Callable[[bytes], None] | None
    login: LoginCallback | None
    offer: Offer | None
    deadlines: Deadlines | None
    respawn: bool
    client_info: Implementation | None
    strict: bool
    observers: Sequence[Observer]
    trace: StrPath | TraceWriter | None
    token: str | None
    headers: Mapping[str, str] | None
    tls: ssl.SSLContext | None


class ConnectOptions(CommonOptions, total=False):
    """The options of `accord.connect`, which documents them; `accord.open` takes them too."""

    permission: PermissionCallback | None
    elicit: ElicitCallback | None


@overload
def connect(program: StrPath, /, *arguments: StrPath, **options: Unpack[ConnectOptions]) -> ConnectedAgent: ...
@overload
def connect(agent: InProcessAgent, /, **options: Unpack[ConnectOptions]) -> ConnectedAgent: ...
@overload
def connect(transport: Transport, /, **options: Unpack[ConnectOptions]) -> ConnectedAgent: ...
def connect(  # noqa: PLR0913 - each is an option of the client
    *target: Any,
    edition: EditionChoice = "auto",
    program_cwd: StrPath | None = None,
    env: Mapping[str, str | None] | None = None,
    framing: Framing = "lines",
    stderr: Callable[[bytes], None] | None = None,
    permission: PermissionCallback | None = None,
    elicit: ElicitCallback | None = None,
    login: LoginCallback | None = None,
    offer: Offer | None = None,
    deadlines: Deadlines | None = None,
    respawn: bool = True,
    client_info: Implementation | None = None,
    strict: bool = False,
    observers: Sequence[Observer] = (),
    trace: StrPath | TraceWriter | None = None,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    tls: ssl.SSLContext | None = None,
) -> ConnectedAgent:
    """An agent to talk to, as an async context: `async with accord.connect("gemini", "--acp") as agent:`.

    The target is a command (strings and paths, always an argv), an address (one string with the scheme ws, wss, http or
    https), an `Agent` in this process, or a transport.

    **Its program.** It starts in `program_cwd` (this process's directory unless given) with `env` on top of this
    process's environment; None unsets a variable. `framing` is the framing of its messages, `stderr` gets its stderr
    output. When the program is lost, the next prompt starts it again and resumes the session, unless `respawn` is off;
    a prompt is never sent twice.

    **Its address.** `token` is sent as a bearer token, that of the variable ACCORD_TOKEN unless given (an empty one is
    none), and never unencrypted to another machine; `headers` are sent with every request; `tls` replaces the system's
    certificates. A link that breaks is opened again and nothing is missed, where the server allows that; each
    loss, each return and a gap that cannot be closed is a `Noticed` event of every open session, and
    `ConnectedAgent.on_link` gets it. After a gap the next prompt connects anew and resumes the session, unless
    `respawn` is off.

    **The edition** is `auto` (the newest stable one, or the one that the agent selects), `newest` (drafts first), or
    one to insist on: `1`, `2`, `2-june`. `client_info` is the name and version that this client gives.

    **Services for the agent**: `offer` selects files and terminals of this machine, see `Offer`; an agent at an
    address is offered none of them unless `offer` is given. The user answers
    through callbacks. `permission` gets a `PermissionQuestion` and returns an option, its id, True, False, or None to
    dismiss it (the default without a callback); a `Policy` is such a callback. `elicit` gets a `FormQuestion` or a
    `UrlQuestion`. `login` gets the ways to log in when the agent wants that, and returns the id of one.

    `trace` is the file into which the wire is recorded, texts of both directions, stderr and exit, as by `accord tap`:
    secrets are masked, and where the file exists already the next free name is taken. An `accord.trace.TraceWriter`
    records with options of its own, and stays open.

    `deadlines` limit the time of each phase. `observers` see every text on the wire, and `strict` turns violations that
    are otherwise tolerated into errors, both for debugging.

    An agent that speaks a dialect of ACP needs a plug-in: `connect(...).use_dialect(...)`.

    Raises:
        TypeError: The target is no command, no address, no agent and no transport.
        ValueError: The address or a header is not usable, or there is no such edition.
        LocalProtocolError: Options do not go together, or the token would be sent unencrypted to another machine.
    """
    limits = deadlines or Deadlines()
    remote = RemoteOptions(
        headers=headers or {},
        token=token,
        tls=tls,
        connect_seconds=limits.connect_seconds,
        reconnect_seconds=limits.reconnect_seconds,
    )
    launcher = AgentLauncher(
        target, program_cwd=program_cwd, env=env, framing=framing, stderr=stderr, remote=remote, trace=trace
    )
    if offer is None:
        offer = Offer() if launcher.address is None else Offer(files=False, terminals=False)
    return ConnectedAgent(
        launcher,
        edition=edition,
        client=client_info or Implementation("accord", VERSION),
        serving=Serving(offer, permission, elicit),
        deadlines=limits,
        login=login,
        respawn=respawn,
        strict=strict,
        observers=observers,
    )
