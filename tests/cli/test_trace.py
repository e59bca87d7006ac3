"""`accord trace`: what it prints, filters, counts, judges and converts, and how it ends."""

import json
import os
import shlex
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from accord.cli.main import main
from accord.trace.exports.selection import EXPORTS
from accord.trace.index_file import index_path
from tests.cli.command import Accord, Result, scripted
from tests.limits import limit
from tests.trace.traces import AGENT, CLIENT, SAMPLES, chunk, error, handshake, header, request, text, turns, write

Run: TypeAlias = Callable[..., Result]


@pytest.fixture
def trace(accord: Accord) -> Path:
    return write(
        accord.cwd / "talk.jsonl",
        header(),
        *handshake(),
        *turns(2, 2),
        text(AGENT, chunk("s2-long", "\x1b[31mred")),
        text(CLIENT, request(90, "session/close", sessionId="s2-long"), t=110.0),
        text(AGENT, error(90, -32601, "no \x1b]0;title\x07method"), t=110.25),
        text(AGENT, "printed by mistake \x1b[2J", fault="not-json", t=111.0),
        text(CLIENT, request(91, "session/fork", sessionId="s1", cwd="/p"), t=112.0),
    )


@pytest.fixture
def run(accord: Accord, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The verb in this process: a new one for each of these lines would take most of the time."""
    monkeypatch.chdir(accord.cwd)

    def run_here(*arguments: str) -> Result:
        status = main(["trace", *arguments])
        shown = capsys.readouterr()
        return Result(status, shown.out, shown.err)

    return run_here


def test_each_record_is_one_line_with_its_facts(accord: Accord, trace: Path) -> None:
    result = accord("trace", trace.name)
    lines = result.stdout.splitlines()
    assert (result.status, len(lines)) == (0, 18)
    assert lines[1].split() == ["2", "0.000", "→", "initialize", "#0", "101", "B"]
    assert lines[4].split() == "5 0.300 ← answer to session/new #1 @s1 52 B after 100.0 ms".split()  # noqa: SIM905
    assert lines[6].split()[2:5] == ["←", "session/update", "agent_message_chunk"]
    assert "after 250.0 ms" in lines[15]
    assert "-32601" in lines[15]
    assert "[not-json] printed by mistake" in lines[16]
    assert "(open)" in lines[17]


@pytest.mark.parametrize("first", [{"t": 1794830400.0}, {"t": 0.0, "tool": ""}], ids=["header", "no header time"])
def test_a_record_without_a_time_has_a_blank_in_its_place_and_no_latency(
    accord: Accord, run: Run, first: dict[str, object]
) -> None:
    write(
        accord.cwd / "untimed.jsonl",
        header(**first),
        text(CLIENT, request(0, "initialize", protocolVersion=1), t=1794830400.5),
        text(AGENT, error(0, -32603), t=0.0),
        text(CLIENT, request(1, "initialize", protocolVersion=1), t=1794830401.0),
        b"no record at all\n",
    )
    shown, counts = run("untimed.jsonl").stdout, run("untimed.jsonl", "--stats").stdout
    begin = 1794830400.0 if first["t"] else 1794830400.5
    _, asked, answer, later, odd = shown.splitlines()
    assert asked.split()[:3] == ["2", f"{1794830400.5 - begin:.3f}", "→"]
    assert answer.split()[:2] == ["3", "←"]
    assert "after" not in answer
    assert later.split()[:2] == ["4", f"{1794830401.0 - begin:.3f}"]
    assert odd.split() == "5 a line that is no record".split()  # noqa: SIM905
    assert len({line.index(mark) for line, mark in ((asked, "→"), (answer, "←"), (later, "→"))}) == 1
    assert f"in {'1.00 s' if first['t'] else '500.0 ms'};" in counts


def test_a_header_without_a_tool_is_said_to_be_by_nobody(accord: Accord, run: Run) -> None:
    write(accord.cwd / "a.jsonl", header(tool=""), *handshake())
    write(accord.cwd / "b.jsonl", header(tool="tool 1"), *handshake())
    assert run("a.jsonl").stdout.splitlines()[0].split() == ["1", "0.000", "accord-trace"]
    assert run("b.jsonl").stdout.splitlines()[0].split() == ["1", "0.000", "accord-trace", "by", "tool", "1"]


def test_a_reader_that_closes_the_pipe_is_no_error(accord: Accord) -> None:
    write(accord.cwd / "long.jsonl", header(), *handshake(), *turns(1, 3000))
    line = shlex.join([*accord.argv, "trace", "long.jsonl", "--as", "ndjson"])
    done = subprocess.run(
        ["/bin/sh", "-c", f"({line}; echo $? >status) | head -n 1"],
        env=accord.env,
        cwd=accord.cwd,
        capture_output=True,
        timeout=limit(40),
        check=True,
    )
    assert done.stderr == b""
    assert (accord.cwd / "status").read_text(encoding="utf-8").strip() == "0"


def test_nothing_of_a_trace_reaches_the_terminal_as_a_control_sequence(run: Run, trace: Path) -> None:
    for options in ([], ["--stats"], ["--validate"]):
        assert "\x1b" not in run(trace.name, *options).stdout


def test_filters_are_combined(run: Run, trace: Path) -> None:
    def numbers(*options: str) -> list[int]:
        return [int(line.split()[0]) for line in run(trace.name, *options).stdout.splitlines()]

    assert numbers("--method", "session/prompt") == [6, 9, 10, 13]
    assert numbers("--method", "session/prompt", "--from", "client") == [6, 10]
    assert numbers("--session", "s2") == numbers("--session", "long") == [14, 15, 16]
    assert numbers("--errors") == [16, 17]
    assert numbers("--grep", "question [1-9]") == [10]


def test_the_counts_have_latencies_open_requests_and_faults(run: Run, trace: Path) -> None:
    out = run(trace.name, "--stats").stdout
    row = next(line for line in out.splitlines() if " session/prompt " in line).split()
    assert row[:3] == ["client", "session/prompt", "2"]
    assert "502.0 ms" in " ".join(row)
    assert "open requests: 1" in out
    assert "faulty texts: 1" in out


def test_the_index_is_kept_beside_the_trace(run: Run, trace: Path) -> None:
    run(trace.name)
    assert index_path(trace).exists()


@pytest.mark.parametrize("name", ["zed.json", "conductor.jsons", "toad.log", "acp-el.traffic"])
def test_recordings_of_others_are_shown_without_asking_for_their_format(run: Run, name: str) -> None:
    result = run(str(SAMPLES / name), "--method", "session/prompt")
    assert result.status == 0
    assert sum("session/prompt" in line for line in result.stdout.splitlines()) == 2
    assert not index_path(SAMPLES / name).exists()
    assert ("no times" in result.stdout) == (name != "conductor.jsons")


def test_an_export_goes_to_a_private_file_and_the_trace_itself_is_never_written(
    accord: Accord, run: Run, trace: Path
) -> None:
    result = run(trace.name, "--as", "devtools", "-o", "out.json")
    assert (result.status, result.stdout) == (0, "")
    path = accord.cwd / "out.json"
    assert len(json.loads(path.read_bytes())["messages"]) == 17
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = trace.read_bytes()
    assert run(trace.name, "--as", "ndjson", "-o", trace.name).status == 2
    assert trace.read_bytes() == before
    assert sorted(each.name for each in accord.cwd.iterdir()) == ["out.json", "talk.jsonl", "talk.jsonl.idx"]


def test_an_export_goes_into_a_pipe_as_it_is(run: Run, trace: Path) -> None:
    lines = run(trace.name, "--as", "ndjson", "--from", "client").stdout.splitlines()
    assert [json.loads(line)["method"] for line in lines][:2] == ["initialize", "session/new"]


def test_secrets_of_a_recording_are_masked_in_an_export_unless_raw_is_asked_for(run: Run) -> None:
    secret = "sk-abcdefgh12345678"  # noqa: S105 - of the sample, and of no service
    assert secret not in run(str(SAMPLES / "zed.json"), "--as", "accord-trace").stdout
    assert secret in run(str(SAMPLES / "zed.json"), "--as", "accord-trace", "--raw").stdout


# --- judging


def test_a_conversation_in_order_has_no_findings_and_says_how_many_rules_were_not_judged(run: Run) -> None:
    result = run(str(SAMPLES / "inspector.jsonl"), "--validate")
    assert result.status == 0
    assert "nothing is wrong" in result.stdout
    lines = [line for line in result.stdout.splitlines() if "not judged" in line]
    assert all(int(line.split()[0]) > 50 for line in lines)
    assert lines
    assert "ACP-" not in result.stdout


def test_a_message_that_does_not_fit_and_a_broken_rule_are_named_and_the_status_is_one(
    accord: Accord, run: Run
) -> None:
    bad = {"sessionUpdate": "tool_call", "toolCallId": 5, "title": "x"}
    relative = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "x", "locations": [{"path": "a.txt"}]}
    updates = [
        {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": each}}
        for each in (bad, relative)
    ]
    write(
        accord.cwd / "bad.jsonl",
        header(),
        *handshake(),
        *turns(1, 1),
        *(text(AGENT, each, t=110.0) for each in updates),
        text(CLIENT, request(5, "no_such/method"), t=111.0),
        text(AGENT, "stray print", fault="not-json", t=112.0),
    )
    result = run("bad.jsonl", "--validate")
    assert result.status == 1
    assert "toolCallId" in result.stdout
    assert "no_such/method" in result.stdout
    assert "ACCORD-PATH-001" in result.stdout
    assert "3 messages and" in result.stdout
    assert "1 messages and" in run("bad.jsonl", "--validate", "--method", "session/update").stdout


# --- usage


@pytest.mark.parametrize(
    "options",
    [
        ["missing.jsonl"],
        ["talk.jsonl", "--grep", "("],
        ["talk.jsonl", "-o", "x"],
        ["talk.jsonl", "--raw"],
        ["talk.jsonl", "--as", "nonsense"],
        ["talk.jsonl", "--stats", "--validate"],
        ["talk.jsonl", "--session", "s"],
        ["newer.jsonl"],
        ["rubbish"],
        ["."],
        ["talk.jsonl", "--as", "md", "-o", "missing/folder"],
        ["talk.jsonl", "--as", "md", "-o", "."],
        ["talk.jsonl", "--as", "md", "-o", "/"],
    ],
)
def test_a_line_or_a_file_that_cannot_be_used_is_one_sentence_and_status_two(
    accord: Accord, run: Run, trace: Path, options: list[str]
) -> None:
    assert trace.exists()
    write(accord.cwd / "newer.jsonl", header(version=2), *handshake())
    write(accord.cwd / "rubbish", b"\x00rubbish\n")
    result = run(*options)
    assert (result.status, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1
    assert "Traceback" not in result.stderr


HOSTILE = (
    b'{"type":"text","t":1,"conn":1,"from":"agent","to":"client","enc":"base64","raw":"!!a"}\n',
    text(AGENT, request(1, "a"), t=1e308),
    text(CLIENT, {"jsonrpc": "2.0", "id": 1, "result": {}}, t=-1e308),
    b'{"type":"text","t":1,"conn":99999999999999999999,"from":"client","to":"agent","raw":"{}"}\n',
    b'{"type":"text","t":1,"conn":-5,"from":"client","to":"agent","raw":"{}"}\n',
    b'{"type":"header","t":1}\n{"type":"end"}\n{"type":"start","pid":"x"}\n{"type":"stderr","raw":5}\n',
    b'\n[]\n{"type":["x"]}\n{"type":"note"}\n\xff\xfe\n{"type":"text","raw":"\xff"}\n',
    text(AGENT, "[" * 5000),
    text(AGENT, {"jsonrpc": "2.0", "id": {"a": 1}, "method": ["x"]}),
    text(AGENT, {"jsonrpc": "2.0", "id": 5, "error": "x"}),
    text(CLIENT, request(10**30, "initialize", protocolVersion=10**30)),
    text(AGENT, {"jsonrpc": "2.0", "id": 10**30, "result": {"protocolVersion": "x"}}),
    text(AGENT, request(7, "session/request_permission", sessionId="s1", toolCall=5, options="x")),
    text(CLIENT, {"jsonrpc": "2.0", "id": 7, "result": []}),
    text(AGENT, '"\\ud800"'),
    *(
        text(AGENT, {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}})
        for update in ({"sessionUpdate": ["x"]}, {"sessionUpdate": "tool_call", "toolCallId": None}, 5)
    ),
)


@pytest.mark.parametrize(
    "options",
    [[], ["--stats"], ["--validate"], ["--errors"], ["--grep", "x"], *(["--as", name] for name in EXPORTS)],
    ids=" ".join,
)
def test_hostile_records_are_shown_and_converted_without_a_traceback(
    accord: Accord, run: Run, options: list[str]
) -> None:
    write(accord.cwd / "hostile.jsonl", header(), *handshake(), *turns(1, 1), *HOSTILE)
    result = run("hostile.jsonl", *options)
    assert result.status == (1 if options == ["--validate"] else 0)
    assert result.stdout
    assert result.stderr == ""


# --- a trace that grows


def test_a_trace_that_is_in_parts_already_is_followed_from_its_first_one(accord: Accord, trace: Path) -> None:
    for part, seconds in ((2, 130.0), (3, 140.0)):
        lines = header(part=part), text(AGENT, chunk("s1", "x"), t=seconds)
        write(accord.cwd / f"talk.part{part}.jsonl", *lines)
    process: Any = accord.start(
        "trace", trace.name, "--follow", "--method", "session/update",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        shown = [process.stdout.readline().split()[:2] for _ in range(7)]
        assert shown[-2:] == [["2", "30.000"], ["2", "40.000"]]
        write(accord.cwd / "talk.part4.jsonl", header(part=4), text(AGENT, chunk("s1", "x"), t=150.0))
        assert process.stdout.readline().split()[:2] == ["2", "50.000"]
    finally:
        process.kill()
        process.communicate(timeout=limit(20))


def test_a_growing_trace_is_followed_into_its_next_part(accord: Accord, trace: Path) -> None:
    process: Any = accord.start(
        "trace",
        trace.name,
        "--follow",
        "--method",
        "session/update",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), True)
        first = [process.stdout.readline() for _ in range(5)]
        assert all("agent_message_chunk" in line for line in first)
        with trace.open("ab") as file:
            file.write(text(AGENT, chunk("s1", "x"), t=120.0)[:-5])
            file.flush()
            file.write(text(AGENT, chunk("s1", "x"), t=120.0)[-5:])
        assert process.stdout.readline().split()[:2] == ["19", "20.000"]
        write(accord.cwd / "talk.part2.jsonl", header(part=2), text(AGENT, chunk("s1", "x"), t=130.0))
        assert process.stdout.readline().split()[:2] == ["2", "30.000"]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=limit(20))
        assert process.returncode == 130
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX: run it on Linux or macOS")
def test_a_tap_that_is_started_at_a_terminal_says_how_to_try_it(accord: Accord) -> None:
    with accord.terminal("tap", "-w", "t.jsonl", *scripted("plain")) as screen:
        screen.expect("accord run hello -- accord tap -w t.jsonl -- ")
        screen.type("\x04")
        screen.status()
