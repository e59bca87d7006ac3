"""Real MCP servers: good ones over every way, and those that hang, die, leave processes behind or talk nonsense."""

from __future__ import annotations

import asyncio
import copy
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import pytest

from accord.agent.mcp import (
    AmbiguousTool,
    McpCallRefused,
    McpCallTimeout,
    McpFailure,
    McpNonsense,
    McpResult,
    McpServerLost,
    McpServers,
    NoSuchTool,
    open_servers,
)
from accord.errors import CallTimeout, LocalProtocolError
from accord.protocol.model import Unknown
from accord.session.client_requests import McpServer
from accord.session.content import Annotations, Audio, Icon, Image, Link, Resource, Text
from tests.agent.mcp_servers.starting import crude, forked, friendly, listening
from tests.limits import limit
from tests.transport.processes import exists, runs, until

# More than anything here needs on a busy machine, where nothing is expected to take that long.
LONG = 30.0
# What a server that never answers is given.
SHORT = 0.5
WAYS: tuple[Literal["http", "sse"], ...] = ("http", "sse")

pytestmark = pytest.mark.usefixtures("short_graces")


@asynccontextmanager
async def opened(
    *servers: McpServer | Unknown, cwd: str = "/", call_timeout_seconds: float | None = LONG
) -> AsyncIterator[McpServers]:
    """Servers that all work, closed at the end."""
    async with await open_servers(
        servers, cwd=cwd, start_timeout_seconds=LONG, call_timeout_seconds=call_timeout_seconds
    ) as together:
        assert together.failures == []
        yield together


async def failure_of(server: McpServer | Unknown, *, cwd: str = "/", seconds: float = LONG) -> McpFailure:
    async with await open_servers([server], cwd=cwd, start_timeout_seconds=seconds) as together:
        assert together.tools == []
        (failure,) = together.failures
    return failure


def text_of(result: McpResult) -> str:
    (block,) = result.content
    assert isinstance(block, Text)
    return block.text


def descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


@pytest.fixture(autouse=True)
def _servers_are_forks() -> Iterator[None]:
    """One that starts from nothing is in `test_servers_die_with_us_when_we_are_killed`."""
    with forked():
        yield


# --- what works


def test_without_servers_there_is_nothing_to_load_or_close() -> None:
    program = (
        "import asyncio, sys\n"
        "from accord.agent.mcp import open_servers\n"
        "async def main():\n"
        "    servers = await open_servers([], cwd='/')\n"
        "    await servers.close()\n"
        "    assert (servers.tools, servers.failures) == ([], [])\n"
        "asyncio.run(main())\n"
        "assert not {'mcp', 'anyio', 'httpx2', 'pydantic'} & set(sys.modules), sorted(sys.modules)\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=limit(60), check=False
    )
    assert finished.stderr == ""


async def test_a_tool_is_a_callable_that_says_what_it_is() -> None:
    async with opened(friendly()) as servers:
        tool = servers.tool("echo")
        assert (tool.server, tool.title, tool.description) == ("friendly", "Echo", "Says it again.")
        assert tool.input_schema["required"] == ["text"]
        assert tool.annotations == {"readOnlyHint": True}
        assert tool.meta == {"example.com/k": 1}
        assert tool.output_schema is not None
        result = await tool(text="hello")
        assert (text_of(result), result.structured, result.is_error) == ("hello", {"result": "hello"}, False)
        assert tool in servers.tools


async def test_blocks_of_every_kind_pass_with_nothing_lost() -> None:
    async with opened(friendly()) as servers:
        result = await servers.call("gallery")
    assert result.content == [
        Text("t", Annotations(["user"], "2026-01-02T03:04:05Z", 0.5), {"mimeType": "a"}),
        Image("AAE=", "image/png", meta={"b": None}),
        Audio("AAE=", "audio/wav"),
        Link("file:///a", "a", "A", "d", "text/plain", 3, [Icon("data:,", "image/png", ["48x48"])]),
        Resource("file:///b", "b", None, "text/plain", Annotations(priority=1.0), {"out": 2}, {"in": 1}),
        Resource("file:///c", blob="AAE="),
    ]
    assert result.structured == {"n": [1, None]}
    assert result.meta == {"example.com/whole": True}


async def test_a_kind_of_block_that_is_younger_than_we_are_is_kept_whole() -> None:
    async with opened(crude("young_block")) as servers:
        result = await servers.call("do")
    payload = {"type": "hologram", "depth": {"mimeType": 3}, "_meta": {"k": 1}}
    assert result.content == [Unknown("hologram", payload), Text("t")]


async def test_annotations_of_a_tool_keep_hints_that_nobody_knows() -> None:
    async with opened(crude("plain")) as servers:
        assert servers.tool("do").annotations == {"readOnlyHint": True, "youngHint": 1}


async def test_a_tool_that_fails_gives_a_result_that_says_so() -> None:
    async with opened(friendly()) as servers:
        result = await servers.call("fail")
    assert result.is_error
    assert "the oven is cold" in text_of(result)


async def test_a_program_starts_in_the_session_s_directory_with_its_variables_on_top_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "ours")
    env = [("TWICE", "first"), ("TWICE", "last")]
    async with opened(friendly(env=env), cwd=str(tmp_path)) as servers:
        result = await servers.call("surroundings", {"names": ["OURS", "TWICE"]})
    assert result.structured == {"result": [str(tmp_path), "ours", "last"]}


@pytest.mark.parametrize("way", WAYS)
async def test_a_server_at_an_address_works_and_gets_its_headers(way: Literal["http", "sse"]) -> None:
    with listening(way, [("X-Key", "secret"), ("X-Two", "1"), ("X-Two", "2")]) as (server, _):
        async with opened(server) as servers:
            assert text_of(await servers.call("echo", {"text": "hello"})) == "hello"
            result = await servers.call("headers", {"names": ["x-key", "x-two"]})
            assert result.structured == {"result": ["secret", "1,2"]}
            assert len((await servers.call("gallery")).content) == 6


@pytest.mark.parametrize("size", [0, 3_000_000])
async def test_content_may_be_large(size: int) -> None:
    with listening("http") as (server, _):
        async with opened(server, friendly()) as servers:
            # Before version 2.3 the package has a limit of its own over HTTP, a megabyte.
            is_limited = size and version("mcp").startswith(("2.0.", "2.1.", "2.2."))
            for name in ("friendly",) if is_limited else ("remote", "friendly"):
                assert len(text_of(await servers.call("much", {"size": size}, server=name))) == size


async def test_calls_run_beside_each_other() -> None:
    async with opened(friendly()) as servers:
        results = await asyncio.gather(*(servers.call("echo", {"text": str(number)}) for number in range(50)))
    assert [text_of(result) for result in results] == [str(number) for number in range(50)]


async def test_the_list_of_tools_is_read_to_its_last_page() -> None:
    async with opened(crude("pages")) as servers:
        assert [tool.name for tool in servers.tools] == ["t0", "t1", "t2", "t3"]


async def test_a_server_without_tools_is_no_failure() -> None:
    async with opened(crude("toolless")) as servers:
        assert servers.tools == []


@pytest.mark.parametrize("way", ["stdio", "http", "sse"])
async def test_a_changed_list_of_tools_is_read_again(way: Literal["stdio", "http", "sse"]) -> None:
    @contextmanager
    def server() -> Iterator[McpServer]:
        if way == "stdio":
            yield friendly()
        else:
            with listening(way) as (remote, _):
                yield remote

    with server() as one:
        async with opened(one) as servers:
            with pytest.raises(NoSuchTool):
                servers.tool("echo_again")
            await servers.call("grow")
            assert await until(lambda: "echo_again" in {tool.name for tool in servers.tools})
            assert text_of(await servers.call("echo_again", {"text": "x"})) == "x"


async def test_a_list_that_cannot_be_read_again_leaves_the_old_one(caplog: pytest.LogCaptureFixture) -> None:
    async with opened(crude("bad_relist")) as servers:
        await servers.call("do")
        assert await until(lambda: "bad_relist" in caplog.text)
        assert [tool.name for tool in servers.tools] == ["do"]
        assert servers.failures == []


async def test_a_server_that_knows_only_the_protocol_of_2026_works_too() -> None:
    async with opened(crude("modern")) as servers:
        assert [tool.name for tool in servers.tools] == ["t1"]
        assert (await servers.call("t1")).structured == [1]
        assert await until(lambda: [tool.name for tool in servers.tools] == ["t2"])


async def test_a_banner_on_stdout_does_no_harm() -> None:
    async with opened(crude("banner")) as servers:
        assert (await servers.call("do")).structured == {"young": 1}


# --- names


async def test_the_same_name_at_two_servers_needs_the_server_s_name() -> None:
    async with opened(crude("plain", "a"), crude("plain", "b")) as servers:
        with pytest.raises(AmbiguousTool) as ambiguous:
            servers.tool("do")
        assert ambiguous.value.servers == ("a", "b")
        assert servers.tool("do", server="b").server == "b"
        with pytest.raises(AmbiguousTool):
            await servers.call("do")
        assert (await servers.call("do", server="a")).content == []


async def test_a_name_that_no_server_has_is_an_error() -> None:
    async with opened(crude("plain", "a")) as servers:
        with pytest.raises(NoSuchTool) as missing:
            servers.tool("undo")
        assert missing.value.tool == "undo"
        with pytest.raises(NoSuchTool):
            servers.tool("do", server="b")


async def test_arguments_may_have_any_name() -> None:
    async with opened(crude("plain")) as servers:
        assert (await servers.tool("do")(self=1, name="x", server=None)).content == []


async def test_arguments_that_are_no_json_are_not_sent() -> None:
    async with opened(crude("plain")) as servers:
        for bad in (object(), "\ud800", {1.5: object()}):
            with pytest.raises(LocalProtocolError) as refused:
                await servers.call("do", {"x": bad})
            assert refused.value.field == "arguments"
        assert (await servers.call("do")).content == []


# --- servers that cannot be used


async def test_a_failed_server_concerns_no_other() -> None:
    missing = McpServer("missing", command="/no/such/program")
    async with await open_servers(
        [crude("exit"), crude("plain"), missing], cwd="/", start_timeout_seconds=LONG
    ) as servers:
        assert [failure.server for failure in servers.failures] == ["exit", "missing"]
        assert (await servers.call("do")).content == []


async def test_all_servers_start_at_the_same_time(tmp_path: Path) -> None:
    # Each of them answers when it has seen all the others.
    servers = [crude("meet", str(number)) for number in range(4)]
    for server in servers:
        server.args += [str(tmp_path), server.name, str(len(servers))]
    async with opened(*servers) as together:
        assert len(together.tools) == 4


async def test_a_missing_program_is_told() -> None:
    failure = await failure_of(McpServer("x", command="/no/such/program"))
    assert failure.server == "x"
    assert "/no/such/program" in failure.reason
    assert "install" in failure.reason


async def test_a_file_that_may_not_be_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "server").write_text("#!/bin/sh\n", encoding="utf-8")
    failure = await failure_of(McpServer("x", command=str(tmp_path / "server")))
    assert "make it executable" in failure.reason


async def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    failure = await failure_of(crude("plain"), cwd=str(tmp_path / "gone"))
    assert str(tmp_path / "gone") in failure.reason


@pytest.mark.parametrize("way", ["stdio", "http", "sse"])
async def test_a_server_without_a_command_or_an_address_is_told(way: Literal["stdio", "http", "sse"]) -> None:
    failure = await failure_of(McpServer("x", type=way))
    assert "it has no" in failure.reason


async def test_a_kind_of_server_that_nobody_knows_is_told() -> None:
    failure = await failure_of(Unknown("pigeon", {"type": "pigeon", "name": "coop"}))
    assert failure.server == "coop"
    assert "pigeon" in failure.reason


async def test_an_early_exit_is_told_with_its_status_and_the_end_of_stderr() -> None:
    failure = await failure_of(crude("exit"))
    assert "status 3" in failure.reason
    assert failure.reason.endswith("no flour\nno sugar")


async def test_silence_is_told_with_the_time_that_was_given() -> None:
    failure = await failure_of(crude("hang"), seconds=SHORT)
    assert f"within {SHORT:g} s" in failure.reason


async def test_a_server_that_was_too_slow_is_ended_before_anybody_closes() -> None:
    async with await open_servers([crude("hang")], cwd="/", start_timeout_seconds=limit(1.0)) as servers:
        pid = int(servers.failures[0].reason.split()[-1])
        assert await until(lambda: not exists(pid))


async def test_nonsense_is_told_with_an_example() -> None:
    # The nonsense is on its way before the handshake is; a time that is too short could only miss it.
    failure = await failure_of(crude("nonsense"), seconds=limit(1.0))
    assert "Welcome!" in failure.reason


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        ("refuse", "no initialize today"),
        ("old", "1999-01-01"),
        ("bad_handshake", "does not speak MCP"),
        ("bad_list", "does not speak MCP"),
        ("endless", "does not end"),
        ("flood", "cannot be read any further"),
    ],
)
async def test_a_server_that_does_not_keep_to_mcp_is_told(behaviour: str, told: str) -> None:
    assert told in (await failure_of(crude(behaviour))).reason


@pytest.mark.parametrize("way", WAYS)
async def test_an_address_where_nobody_listens_is_told_without_its_secrets(way: Literal["http", "sse"]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    failure = await failure_of(McpServer("x", type=way, url=f"http://me:pw@127.0.0.1:{port}/mcp?key=k"))
    assert f"cannot reach http://127.0.0.1:{port}/mcp:" in failure.reason
    assert not {"me:pw", "key=k"} & set(failure.reason.split())


class Quiet(BaseHTTPRequestHandler):
    timeout = LONG

    def log_message(self, *_: Any) -> None:
        pass


async def test_an_address_that_is_none_is_told() -> None:
    failure = await failure_of(McpServer("x", type="http", url="http://[::1"))
    assert "check the address" in failure.reason


@contextmanager
def serving(handler: type[Quiet]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        server.shutdown()
        thread.join(LONG)


@contextmanager
def answering(status: int, body: bytes = b"", kind: str = "text/html") -> Iterator[str]:
    """An HTTP server that answers everything in the same way."""

    class Handler(Quiet):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_DELETE = do_POST  # noqa: N815 - the names that the standard library looks for

    with serving(Handler) as url:
        yield url


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status", [302, 401, 404, 500, 599])
async def test_a_bad_http_status_is_told(way: Literal["http", "sse"], status: int) -> None:
    with answering(status) as url:
        failure = await failure_of(McpServer("x", type=way, url=url))
    assert f"HTTP status {status}" in failure.reason


@pytest.mark.parametrize(("body", "kind"), [(b"<p>Hi", "text/html"), (b"{}", "application/json")])
async def test_a_web_page_is_no_mcp_server(body: bytes, kind: str) -> None:
    with answering(200, body, kind) as url:
        failure = await failure_of(McpServer("x", type="http", url=url))
    assert failure.reason.startswith("it refused:")


def sse_handler(refused: str) -> type[Quiet]:
    """An SSE server that answers the handshake and lists a tool, and takes no message of one method."""
    streams: list[Any] = []
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "x", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "do", "inputSchema": {"type": "object"}}]},
    }

    class Handler(Quiet):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            # Known before the client is: its first message comes with the address.
            streams.append(self.wfile)
            self.wfile.write(b"event: endpoint\r\ndata: /messages\r\n\r\n")
            # Until the client goes.
            self.rfile.read(1)

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(503 if message["method"] == refused else 202)
            self.send_header("content-length", "0")
            self.end_headers()
            if message["method"] in results and message["method"] != refused:
                answer = {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}
                streams[0].write(b"event: message\r\ndata: %s\r\n\r\n" % json.dumps(answer).encode())

    return Handler


async def test_an_sse_server_that_takes_no_messages_is_told_at_once() -> None:
    with serving(sse_handler("initialize")) as url:
        async with asyncio.timeout(LONG / 2):
            failure = await failure_of(McpServer("x", type="sse", url=url), seconds=LONG)
    assert "HTTP status 503" in failure.reason


async def test_a_call_that_an_sse_server_does_not_take_fails_at_once() -> None:
    with serving(sse_handler("tools/call")) as url:
        async with asyncio.timeout(LONG / 2), opened(McpServer("x", type="sse", url=url)) as servers:
            with pytest.raises(McpServerLost) as lost:
                await servers.call("do", timeout_seconds=LONG)
    assert "HTTP status 503" in str(lost.value)


async def test_without_the_mcp_package_every_server_fails_and_the_reason_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.startswith("accord.agent.mcp.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    async with await open_servers([crude("plain", "a"), crude("plain", "b")], cwd="/") as servers:
        assert [failure.server for failure in servers.failures] == ["a", "b"]
        assert all("pip install '.[mcp]'" in failure.reason for failure in servers.failures)
        assert servers.tools == []


# --- calls that fail


@pytest.mark.parametrize(
    "behaviour", ["bad_block", "untagged_block", "bad_resource", "no_resource", "bad_result", "bad_schema"]
)
async def test_an_answer_that_is_no_mcp_fails_that_call_alone(behaviour: str) -> None:
    async with opened(crude(behaviour)) as servers:
        for _ in range(2):
            with pytest.raises(McpNonsense) as nonsense:
                await servers.call("do")
            assert nonsense.value.server == behaviour
        assert servers.failures == []


async def test_an_error_object_is_raised_as_it_came() -> None:
    async with opened(crude("refuse_call")) as servers:
        with pytest.raises(McpCallRefused) as refused:
            await servers.call("do")
    assert (refused.value.server, refused.value.code) == ("refuse_call", -32000)
    assert (refused.value.message, refused.value.data) == ("Closed on Mondays", {"day": 1})


async def test_a_tool_that_wants_input_of_the_user_is_refused() -> None:
    async with opened(crude("modern")) as servers:
        with pytest.raises(McpCallRefused):
            await servers.call("t1", {"ask": True})


async def test_a_server_that_dies_in_a_call_is_told_and_the_others_go_on() -> None:
    async with opened(friendly(), crude("plain", "other")) as servers:
        with pytest.raises(McpServerLost) as lost:
            await servers.call("die")
        assert (lost.value.server, lost.value.exit_status) == ("friendly", 7)
        assert "out of flour" in lost.value.stderr_tail
        assert "status 7" in str(lost.value)
        assert [failure.server for failure in servers.failures] == ["friendly"]
        assert {tool.server for tool in servers.tools} == {"other"}
        with pytest.raises(McpServerLost):
            await servers.call("echo", {"text": "x"})
        assert (await servers.call("do")).content == []
    assert "status 7" in servers.failures[0].reason


@pytest.mark.parametrize("way", WAYS)
async def test_a_server_at_an_address_that_dies_in_a_call_is_told(way: Literal["http", "sse"]) -> None:
    with listening(way) as (server, _):
        async with opened(server) as servers:
            with pytest.raises(McpServerLost) as lost:
                await servers.call("die")
            assert lost.value.server == "remote"
            with pytest.raises(McpServerLost):
                await servers.call("echo", {"text": "x"})
            assert [failure.server for failure in servers.failures] == ["remote"]
            assert servers.tools == []


async def test_a_server_that_closes_its_output_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.transport.child.EXIT_SECONDS", limit(0.1))
    async with opened(crude("shut")) as servers:
        with pytest.raises(McpServerLost) as lost:
            await servers.call("do")
        assert lost.value.exit_status is None


async def test_the_death_of_an_idle_server_is_noticed() -> None:
    async with opened(friendly()) as servers:
        pid = (await servers.call("fork")).structured["result"]
        parent = int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGKILL)
        assert await until(lambda: servers.failures)
        assert "signal 9" in servers.failures[0].reason
        # What it left behind goes with it, long before anybody closes.
        assert await until(lambda: not runs(pid))


async def test_a_timeout_returns_in_time_and_tells_the_server(tmp_path: Path) -> None:
    await give_up_on_a_call("stdio", tmp_path, with_timeout=True)


def let_pass(seconds: float) -> None:
    """It is that much later for all that waits in the loop."""
    loop = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + seconds  # type: ignore[method-assign]


@pytest.mark.parametrize("way", ["stdio", "http", "sse"])
async def test_a_cancelled_call_ends_at_once_and_tells_the_server(
    way: Literal["stdio", "http", "sse"], tmp_path: Path
) -> None:
    await give_up_on_a_call(way, tmp_path, with_timeout=False)


async def give_up_on_a_call(way: Literal["stdio", "http", "sse"], tmp_path: Path, *, with_timeout: bool) -> None:
    started, cancelled = tmp_path / "started", tmp_path / "cancelled"
    arguments = {"started": str(started), "cancelled": str(cancelled)}

    async def give_up(server: McpServer) -> None:
        async with opened(server) as servers:
            call = asyncio.create_task(servers.call("wait", arguments, timeout_seconds=LONG if with_timeout else None))
            assert await until(started.exists)
            if with_timeout:
                let_pass(LONG)
            else:
                call.cancel()
            (outcome,) = await asyncio.gather(call, return_exceptions=True)
            assert isinstance(outcome, McpCallTimeout if with_timeout else asyncio.CancelledError)
            assert await until(cancelled.exists)
            assert text_of(await servers.call("echo", {"text": "still here"})) == "still here"

    if way == "stdio":
        await give_up(friendly())
    else:
        with listening(way) as (remote, _):
            await give_up(remote)


async def test_a_timeout_is_also_the_one_that_everybody_knows() -> None:
    async with opened(crude("deaf"), call_timeout_seconds=SHORT) as servers:
        with pytest.raises(CallTimeout) as late:
            await servers.call("do")
        assert isinstance(late.value, McpCallTimeout)
        for error in (late.value, copy.copy(late.value)):
            assert (error.server, error.tool, error.timeout_seconds) == ("deaf", "do", SHORT)


async def test_a_server_that_does_not_read_delays_nobody_who_gives_up() -> None:
    async with opened(crude("deaf")) as servers:
        began = time.monotonic()
        for _ in range(3):
            with pytest.raises(McpCallTimeout):
                await servers.call("do", {"x": "y" * 1_000_000}, timeout_seconds=0.1)
        # Telling it to stop takes the package five seconds each.
        assert time.monotonic() - began < limit(4.0)


# --- the end


async def test_after_close_nothing_is_left() -> None:
    # The first child brings the watchdog along, which stays.
    async with opened(crude("plain")):
        pass
    gc.collect()
    before = descriptors()
    with listening("http") as (http, _), listening("sse") as (sse, _):
        own = descriptors() - before
        sse.name = "sse"
        good = await open_servers([friendly(), http, sse, crude("plain")], cwd="/", start_timeout_seconds=LONG)
        assert good.failures == []
        broken = [crude("stubborn"), crude("hang"), crude("exit"), McpServer("m", command="/no/such/program")]
        bad = await open_servers(broken, cwd="/", start_timeout_seconds=limit(1.0))
        told = {failure.server: failure.reason for failure in bad.failures}
        assert set(told) == {"stubborn", "hang", "exit", "m"}
        grandchild = (await good.call("fork", server="friendly")).structured["result"]
        children = [int(told[name].split()[-1]) for name in ("stubborn", "hang")]
        assert runs(grandchild)
        for servers in (good, bad):
            began = time.monotonic()
            await servers.close()
            assert time.monotonic() - began < limit(15.0)
        assert [pid for pid in children if exists(pid)] == []
        # It was killed; how long the system takes to end it is not known.
        assert await until(lambda: not runs(grandchild))
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert await until(lambda: descriptors() <= before | own)
        await good.close()
        assert good.tools == []
        with pytest.raises(McpServerLost):
            await good.call("echo", {"text": "x"}, server="friendly")


async def test_closing_fails_the_calls_under_way() -> None:
    servers = await open_servers([crude("deaf")], cwd="/", start_timeout_seconds=LONG)
    calls = [asyncio.create_task(servers.call("do", timeout_seconds=limit)) for limit in (None, LONG)]
    await asyncio.sleep(0)
    await asyncio.gather(servers.close(), servers.close())
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [McpServerLost, McpServerLost]
    assert servers.failures == []


async def test_whoever_stops_opening_leaves_nothing_behind(tmp_path: Path) -> None:
    server = crude("hang")
    server.command, server.args = "/bin/sh", ["-c", f"echo $$ > {tmp_path}/pid; exec sleep 1000"]
    opening = asyncio.create_task(open_servers([server], cwd="/", start_timeout_seconds=LONG))
    assert await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").stat().st_size)
    pid = int((tmp_path / "pid").read_text(encoding="utf-8"))
    opening.cancel()
    await asyncio.wait({opening})
    assert opening.cancelled()
    assert not exists(pid)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_cancelled_close_still_ends_the_programs() -> None:
    servers = await open_servers([friendly()], cwd="/", start_timeout_seconds=LONG)
    grandchild = (await servers.call("fork")).structured["result"]
    closing = asyncio.create_task(servers.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait({closing})
    assert await until(lambda: not runs(grandchild))
    await servers.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_server_that_ignores_a_goodbye_over_http_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("accord.agent.mcp.server_connection._REMOTE_CLOSE_SECONDS", limit(0.1))
    with listening("http") as (server, process):
        servers = await open_servers([server], cwd="/", start_timeout_seconds=LONG)
        assert servers.failures == []
        process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        await servers.close()
        process.send_signal(signal.SIGCONT)
    assert time.monotonic() - began < limit(10.0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_servers_die_with_us_when_we_are_killed() -> None:
    host = (
        "import asyncio, os, sys\n"
        "from accord.agent.mcp import open_servers\n"
        "from accord.session.client_requests import McpServer\n"
        "async def main():\n"
        f"    server = McpServer('x', command={sys.executable!r}, args={friendly().args!r})\n"
        "    servers = await open_servers([server], cwd='/')\n"
        "    print((await servers.call('fork')).structured['result'], flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    with hosting(host) as process:
        assert process.stdout is not None
        grandchild = int(process.stdout.readline())
        assert runs(grandchild)
        process.kill()
    assert await until(lambda: not runs(grandchild))


@contextmanager
def hosting(program: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()
