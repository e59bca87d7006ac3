"""The sources of AG-UI events: an address that is asked over HTTP, or an object in this process.

Both give events as plain JSON objects. The types of the package `ag-ui-protocol` are only needed for local objects.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing
from importlib import import_module
from typing import Any, Protocol, TypeAlias

from accord.adapters.failures import CannotServe
from accord.errors import InternalError
from accord.time_scale import scaled
from accord.wire.sse import SseReader

__all__ = ["EventSource", "ThreadBusy", "source_of"]

AguiEvent: TypeAlias = dict[str, Any]
RunInput: TypeAlias = dict[str, Any]

CONNECT_SECONDS = scaled(10.0)
LOWEST_BAD_STATUS = 300
# In this order: the second is the earlier package of the same library.
HTTP_PACKAGES = ("httpx2", "httpx")


class ThreadBusy(InternalError):
    """The agent has refused a run, because one of the same thread has not ended; nothing of it was done."""

    def __init__(self) -> None:
        super().__init__("The agent has not ended an earlier run of this session: try again later", {"reason": "busy"})


class EventSource(Protocol):
    """Runs an agent of AG-UI."""

    def run(self, run_input: RunInput) -> AsyncIterator[AguiEvent]:
        """The events of one run; closing the iterator stops the run."""


def source_of(agent: Any, headers: Mapping[str, str] | None = None) -> EventSource:
    """The source for an address, for a function of a `RunAgentInput`, or for an object with such a method `run`.

    Raises:
        CannotServe: It is none of them, or a package is missing.
    """
    if isinstance(agent, str):
        if not agent.startswith(("http://", "https://")):
            raise CannotServe("the address of an AG-UI agent begins with http:// or https://", field="agent")
        return _Address(agent, dict(headers or {}))
    run = getattr(agent, "run", None) or agent
    if not callable(run):
        raise CannotServe("an AG-UI agent is an address, a function, or an object with a method run", field="agent")
    return _LocalAgent(run)


class _EventReader:
    """Decodes the events of a stream of server-sent events."""

    def __init__(self) -> None:
        self._reader = SseReader()

    def feed(self, chunk: bytes) -> Iterator[AguiEvent]:
        """The events that the chunk completes.

        Raises:
            InternalError: An event is larger than the limit, or is no JSON object.
        """
        for event in self._reader.feed(chunk):
            yield _decoded(event.data)
        if self._reader.fault is not None:
            raise InternalError("The AG-UI agent sent an event that is too large")


def _decoded(data: bytes) -> AguiEvent:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        raise InternalError("The AG-UI agent sent something that is no event")
    return event


class _Address:
    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self._url = url
        self._headers = {"Accept": "text/event-stream", **headers}
        self._http = _http_package()

    async def run(self, run_input: RunInput) -> AsyncIterator[AguiEvent]:
        http, reader = self._http, _EventReader()
        # The answer of a model has no time limit: only the connection has one.
        timeout = http.Timeout(CONNECT_SECONDS, read=None)
        try:
            async with (
                http.AsyncClient(timeout=timeout) as client,
                client.stream("POST", self._url, json=run_input, headers=self._headers) as response,
            ):
                if response.status_code == http.codes.CONFLICT:
                    raise ThreadBusy
                if response.status_code >= LOWEST_BAD_STATUS:
                    raise InternalError(f"The AG-UI agent's address answered with the status {response.status_code}")
                async with aclosing(response.aiter_bytes()) as chunks:
                    async for chunk in chunks:
                        for event in reader.feed(chunk):
                            yield event
        except http.ConnectError as error:
            raise InternalError("The AG-UI agent's address cannot be reached: is it running?") from error
        except http.HTTPError as error:
            raise InternalError("The connection to the AG-UI agent broke off") from error


def _http_package() -> Any:
    for name in HTTP_PACKAGES:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise CannotServe("an AG-UI agent behind an address needs a package that is missing: pip install httpx2")


class _LocalAgent:
    def __init__(self, run: Callable[[Any], Any]) -> None:
        self._run = run
        try:
            self._input_type = import_module("ag_ui.core").RunAgentInput
        except ImportError as error:
            raise CannotServe(
                "a local AG-UI agent needs a package that is missing: pip install ag-ui-protocol"
            ) from error

    async def run(self, run_input: RunInput) -> AsyncIterator[AguiEvent]:
        made = self._run(self._input_type.model_validate(run_input))
        events = await made if inspect.isawaitable(made) else made
        reader = _EventReader()
        try:
            async for event in events:
                for plain in _plain_events(event, reader):
                    yield plain
        finally:
            close = getattr(events, "aclose", None)
            if close is not None:
                await close()


def _plain_events(event: Any, reader: _EventReader) -> Iterator[AguiEvent]:
    """An event as its producer gives it: an object of the package, a dict, or already encoded for HTTP."""
    if isinstance(event, str | bytes):
        yield from reader.feed(event.encode() if isinstance(event, str) else event)
    elif isinstance(event, dict):
        yield event
    else:
        yield event.model_dump(mode="json", by_alias=True, exclude_none=True)
