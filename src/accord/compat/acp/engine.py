"""Replaces the connection below the official SDK's classes, its two sides among them, by `accord.Connection`."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module
from typing import Any, Literal, TypeAlias

import msgspec

from accord.connection import Connection, Handlers
from accord.connection.handlers import Handler
from accord.errors import ConnectionLost, InvalidParams, RemoteProtocolError, RequestError
from accord.jsonrpc.message import MessageRules
from accord.protocol.edition import V1, Edition
from accord.protocol.method import RequestMethod
from accord.transport.interface import Transport

__all__ = ["Observer", "agent_side", "client_side", "installed_sdk"]


log = logging.getLogger("accord.compat")

Router: TypeAlias = Callable[[str, Any, bool], Awaitable[Any]]
"""The SDK's dispatch to the author's object: method, params, and whether it is a notification."""
Observer: TypeAlias = Callable[[Any], Awaitable[None] | None]
"""Gets a `StreamEvent` of the SDK for every message."""

_METHOD_NOT_FOUND = -32601
_UPPER = re.compile(r"(?<=[a-z0-9])([A-Z])")


class _RawEdition(Edition):
    """v1 with `initialize` as its only typed method; everything else reaches the SDK's router as plain JSON."""

    @functools.cached_property
    def requires_info(self) -> bool:
        return False


_INITIALIZE: RequestMethod[Any, Any] = RequestMethod("initialize", "agent", Any, Any)
_EDITION = _RawEdition(
    V1.name, V1.version, lambda: (_INITIALIZE,), __name__, rules=MessageRules(null_ids=True, batches=False)
)


class _EveryMethod(dict[str, Handler]):
    """Handlers by name: one for each name that is looked up, since only the SDK's router knows its methods."""

    def __init__(self, call: Callable[[str, Any], Awaitable[Any]], share: int) -> None:
        super().__init__()
        self._call = call
        self._share = share

    def get(self, name: str, default: Any = None) -> Handler:  # noqa: ARG002 - of dict
        return Handler(functools.partial(self._call, name), suspends=True, share=self._share)


class EngineConnection:
    """The five methods that the SDK's classes call of the connection below them, over `accord.Connection`."""

    def __init__(
        self,
        transport: Transport,
        side: Literal["agent", "client"],
        router: Router,
        observers: Iterable[Observer] = (),
    ) -> None:
        from acp.connection import StreamDirection, StreamEvent  # noqa: PLC0415 - the user's
        from acp.exceptions import RequestError as SdkError  # noqa: PLC0415
        from pydantic import ValidationError  # noqa: PLC0415 - the SDK's own dependency

        self._router = router
        self._side: Literal["agent", "client"] = side
        self._sdk_error: type[Exception] = SdkError
        self._invalid: type[Exception] = ValidationError
        self._event = StreamEvent
        self._directions = {"in": StreamDirection.INCOMING, "out": StreamDirection.OUTGOING}
        self._observing: set[asyncio.Future[None]] = set()
        handlers = Handlers()
        handlers.extension_requests = _EveryMethod(self._request, share=0)
        handlers.extension_notifications = _EveryMethod(self._notification, share=0)
        if side == "agent":
            handlers.on(_INITIALIZE, self._initialize)
        # The SDK serves requests before `initialize`, so agreeing on v1 does not wait for it.
        self._connection = Connection(transport, side, handlers, editions=(_EDITION,), edition=_EDITION)
        for observer in observers:
            self.add_observer(observer)

    # --- called by the SDK's classes

    def start(self) -> None:
        self._connection.start()

    async def main_loop(self) -> None:
        """Serve the peer until it is gone.

        Raises:
            AccordError: The link broke.
        """
        self._connection.start()
        reason = await self._connection.wait_closed()
        if reason is not None:
            raise reason

    async def close(self) -> None:
        await self._connection.close()

    async def send_request(self, method: str, params: Any = None) -> Any:
        try:
            return await self._connection.call_extension(method, params)
        except RequestError as error:
            raise self._sdk_error(error.code, error.message, error.data) from error
        except RemoteProtocolError as error:
            raise self._sdk_error(-32603, "Internal error", {"details": "the answer is no result"}) from error
        except ConnectionLost as error:
            raise ConnectionError("Connection closed") from error

    async def send_notification(self, method: str, params: Any = None) -> None:
        try:
            await self._connection.notify_extension(method, params)
        except ConnectionLost as error:
            raise ConnectionError("Connection closed") from error

    def add_observer(self, observer: Observer) -> None:
        self._connection.observe(functools.partial(self._observe, observer))

    # --- called by the engine

    async def _initialize(self, params: Any) -> Any:
        result = await self._request("initialize", params)
        # An agent that echoes the client's version would promise one that this SDK does not support.
        if isinstance(result, dict):
            version = result.get("protocolVersion")
            if isinstance(version, int) and version > V1.version:
                result["protocolVersion"] = V1.version
        return result

    async def _request(self, method: str, params: Any) -> Any:
        try:
            result = await self._router(method, without_arguments(self._side, method, params), False)  # noqa: FBT003
        except self._sdk_error as error:
            raise _engine_error(error) from error
        except self._invalid as error:
            raise InvalidParams(data=_misfit(error)) from None
        dump = getattr(result, "model_dump", None)
        if dump is None:
            return result
        return dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)

    async def _notification(self, method: str, params: Any) -> None:
        try:
            await self._router(method, without_arguments(self._side, method, params), True)  # noqa: FBT003
        except self._sdk_error as error:
            if getattr(error, "code", None) != _METHOD_NOT_FOUND:
                raise

    def _observe(self, observer: Observer, direction: Literal["in", "out"], text: bytes) -> None:
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            return
        if not isinstance(message, dict):
            return
        try:
            watching = observer(self._event(self._directions[direction], message))
        except Exception:  # as in the SDK, an observer fails no message
            log.exception("an observer failed")
            return
        if inspect.isawaitable(watching):
            task = asyncio.ensure_future(_watched(watching))
            self._observing.add(task)
            task.add_done_callback(self._observing.discard)


async def _watched(watching: Awaitable[None]) -> None:
    try:
        await watching
    except Exception:
        log.exception("an observer failed")


def _engine_error(error: Any) -> RequestError:
    return RequestError(str(error), error.data, code=int(error.code))


def _misfit(error: Any) -> dict[str, str]:
    """The field and the expected value; never the received one."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return {"field": ".".join(str(part) for part in first["loc"]), "expected": str(first["msg"])}


def without_arguments(side: Literal["agent", "client"], method: str, params: Any) -> Any:
    """The params without those keys of `_meta` that name an argument of the author's method.

    The SDK passes `_meta` as keyword arguments, behind the fields of the request: a client that writes `session_id`
    there would choose another session.
    """
    if not isinstance(params, dict) or method.startswith("_"):
        return params
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        return params
    arguments = {"self", *_arguments(side, method), *(_snake_case(key) for key in params)}
    kept = {key: value for key, value in meta.items() if key not in arguments}
    return params if len(kept) == len(meta) else {**params, "_meta": kept}


@functools.cache
def _arguments(side: Literal["agent", "client"], method: str) -> frozenset[str]:
    row = V1.draft.request(side, method) or V1.draft.notification(side, method)
    if row is None or not isinstance(row.params, type) or not issubclass(row.params, msgspec.Struct):
        return frozenset()
    return frozenset(field.name for field in msgspec.structs.fields(row.params))


def _snake_case(key: str) -> str:
    return _UPPER.sub(r"_\1", key).lower()


# --- both sides

_ENDING: set[asyncio.Future[None]] = set()
"""The exchanged connections while they end: the loop itself holds its tasks weakly."""


def installed_sdk(module: str = "acp") -> Any:
    """A module of the user's official SDK.

    Raises:
        ImportError: It is not installed, or another package is named `acp`.
    """
    try:
        import_module("acp.core")
        return import_module(module)
    except ImportError as error:
        message = "accord.compat.acp runs objects of the official SDK: install agent-client-protocol, 0.11 or newer"
        raise ImportError(message) from error


def agent_side(
    to_agent: Any, transport: Transport, *, use_unstable_protocol: bool, observers: Iterable[Observer]
) -> Any:
    """The `AgentSideConnection` of an agent, over a transport; it does not read yet."""
    return _side("agent", "AgentSideConnection", to_agent, transport, use_unstable_protocol, observers)


def client_side(
    to_client: Any, transport: Transport, *, use_unstable_protocol: bool, observers: Iterable[Observer]
) -> Any:
    """The `ClientSideConnection` of a client, over a transport; it does not read yet."""
    return _side("client", "ClientSideConnection", to_client, transport, use_unstable_protocol, observers)


def _side(
    side: Literal["agent", "client"],
    name: str,
    given: Any,
    transport: Transport,
    use_unstable_protocol: bool,  # noqa: FBT001
    observers: Iterable[Observer],
) -> Any:
    make: Callable[..., Any] = getattr(installed_sdk(f"acp.{side}.connection"), name)
    writer, reader = _nowhere()
    made = make(given, writer, reader, listening=False, use_unstable_protocol=use_unstable_protocol)
    theirs = made._conn  # noqa: SLF001 - see above
    router: Router = theirs._handler  # noqa: SLF001
    made._conn = EngineConnection(transport, side, router, observers)  # noqa: SLF001
    ending = asyncio.ensure_future(theirs.close())
    _ENDING.add(ending)
    ending.add_done_callback(_ENDING.discard)
    return made


class _NowhereTransport(asyncio.WriteTransport):
    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Nothing is sent here: the SDK's own connection is exchanged before it has something to send."""

    def is_closing(self) -> bool:
        return True

    def close(self) -> None:
        """There is nothing to close."""


def _nowhere() -> tuple[asyncio.StreamWriter, asyncio.StreamReader]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    return asyncio.StreamWriter(_NowhereTransport(), protocol, None, loop), reader
