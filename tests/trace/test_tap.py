"""The tap between a client and an agent: bytes first, then records; signals, ends, and what it costs nobody."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

import pytest

from accord.trace import recorder_process
from accord.trace.recorder_process import AGENT_STREAM, CLIENT_STREAM, STDERR_STREAM
from accord.trace.tap import STREAM_READS, ReadOrder, Stream
from tests.limits import limit
from tests.trace import noise
from tests.trace.programs import NOISE, SECONDS, TAP, Tapped, records_of, texts_of, wait_until_gone

STUBBORN = "trap '' TERM HUP INT; echo $$; while :; do sleep 0.2; done"


def test_bytes_are_forwarded_before_they_are_handed_to_the_recorder() -> None:
    source, client = os.pipe()
    agent, target = os.pipe()
    may_go_on = Event()
    taken: list[tuple[int, bytes]] = []

    def take(stream: int, data: bytes, _moment: float) -> None:
        assert may_go_on.wait(SECONDS)
        taken.append((stream, data))

    stream = Stream(7, source, target, ReadOrder(take))
    stream.thread.start()
    os.write(client, b"half a li")
    ready, _, _ = select.select([agent], [], [], SECONDS)
    arrived = os.read(agent, 100) if ready else b"nothing"
    taken_before = list(taken)
    may_go_on.set()
    os.close(client)
    stream.thread.join(SECONDS)

    assert arrived == b"half a li"
    assert taken_before == []
    assert taken == [(7, b"half a li"), (7, b"")]
    assert os.read(agent, 100) == b"", "the end passes on as an end"
    os.close(agent)


def test_reads_are_handed_over_in_their_order_whoever_does_it() -> None:
    taken: list[bytes] = []
    order = ReadOrder(lambda _stream, data, _moment: taken.append(data))
    order.note(0, b"request")
    order.note(1, b"answer")
    # The thread of the answer comes first.
    order.hand_over()
    order.hand_over()
    assert taken == [b"request", b"answer"]


class FakeTime:
    """A clock that moves a little at each look, and by what the test adds; and naps that it is told of."""

    def __init__(self) -> None:
        self.now = 100.0
        self.step = 0.00002
        self.on_sleep: Callable[[], object] = lambda: None

    def monotonic(self) -> float:
        self.now += self.step
        return self.now

    def sleep(self, _seconds: float) -> None:
        self.on_sleep()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    fake = FakeTime()
    monkeypatch.setattr("accord.trace.tap.time", fake)
    return fake


def test_only_many_reads_of_one_side_close_together_are_a_stream(clock: FakeTime) -> None:
    order = ReadOrder(lambda *_: None)
    for _ in range(100):
        order.note(CLIENT_STREAM, b"request")
        assert not order.pause_seconds(CLIENT_STREAM)
        order.note(AGENT_STREAM, b"answer")
        assert not order.pause_seconds(AGENT_STREAM)
    for _ in range(100):
        clock.now += 0.01
        order.note(AGENT_STREAM, b"a word")
        assert not order.pause_seconds(AGENT_STREAM), "10 ms between two reads are worth no delay"
    for _ in range(50):
        order.note(AGENT_STREAM, b"a word")
        order.note(STDERR_STREAM, b"a remark")
    assert order.pause_seconds(AGENT_STREAM)
    assert not order.pause_seconds(CLIENT_STREAM)
    order.note(CLIENT_STREAM, b"cancel")
    assert not order.pause_seconds(AGENT_STREAM)


@pytest.mark.parametrize(
    ("bytes_per_second", "expected"),
    [(1e3, 0.0009), (8e6, 0.0009), (24 * 1024 / 0.0005, 0.0005), (90e6, 0.0)],
    ids=["a slow stream", "8 MB/s", "24 KiB each half millisecond", "a stream that fills the pipe by itself"],
)
def test_a_pause_is_as_long_as_the_pipe_has_room_for(clock: FakeTime, bytes_per_second: float, expected: float) -> None:
    order = ReadOrder(lambda *_: None)
    clock.step = 0.0
    data = b"x" * 100
    for _ in range(2 + STREAM_READS):
        clock.now += min(len(data) / bytes_per_second, 0.005)
        order.note(AGENT_STREAM, data)

    assert order.pause_seconds(AGENT_STREAM) == pytest.approx(expected, rel=1e-3)


def test_what_a_streaming_side_writes_while_the_relay_waits_is_one_read(clock: FakeTime) -> None:
    source, agent = os.pipe()
    client, target = os.pipe()
    taken: list[bytes] = []
    naps: list[bool] = []

    def write_more() -> None:
        naps.append(True)
        if len(naps) == 1:
            for word in (b"three ", b"words ", b"more"):
                os.write(agent, word)
            os.close(agent)

    clock.on_sleep = write_more
    stream = Stream(AGENT_STREAM, source, target, ReadOrder(lambda _stream, data, _moment: taken.append(data)))
    stream.thread.start()
    # The first read has none before it.
    for number in range(1 + STREAM_READS):
        assert naps == [], "a few messages in a row pass at once"
        os.write(agent, b"%d" % number)
        ready, _, _ = select.select([client], [], [], SECONDS)
        assert ready, "nothing came"
        # More may be there already, after the last one.
        assert os.read(client, len(b"%d" % number)) == b"%d" % number
    stream.thread.join(SECONDS)

    assert taken[-2:] == [b"three words more", b""]
    assert os.read(client, 100) == b"three words more"
    os.close(client)


def test_everything_of_a_stream_is_there_before_the_answer_that_ends_it(tmp_path: Path) -> None:
    agent = (
        "import os\n"
        "while data := os.read(0, 100):\n"
        "    for number in range(3000): os.write(1, b'{\"n\":%d}\\n' % number)\n"
        "    os.write(1, data)\n"
    )
    file = tmp_path / "trace.jsonl"
    expected = [b'{"n":%d}' % number for number in range(3000)]
    with Tapped([sys.executable, "-c", agent], "-w", str(file)) as tap:
        for number in range(3):
            tap.send(b'{"id":%d}' % number)
            assert [tap.line() for _ in expected] == expected
            assert tap.line() == b'{"id":%d}' % number
        assert tap.end() == 0

    assert texts_of(file, "agent") == [line for n in range(3) for line in (*expected, b'{"id":%d}' % n)]
    assert records_of(file)[-1].lost == 0


def test_an_answer_is_never_recorded_before_its_request(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    with Tapped(["cat"], "-w", str(file)) as tap:
        for number in range(300):
            tap.send(b'{"id":%d}' % number)
            assert tap.line() == b'{"id":%d}' % number
        assert tap.end() == 0

    texts = [(record.source, record.raw) for record in records_of(file) if record.type == "text"]
    assert texts == [(side, b'{"id":%d}' % number) for number in range(300) for side in ("client", "agent")]
    times = [record.t for record in records_of(file)]
    assert times == sorted(times)


def test_every_read_is_in_the_file_while_the_talk_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    with Tapped(["cat"], "-w", str(file)) as tap:
        for number in range(3):
            line = b'{"id":%d}' % number
            tap.send(line)
            assert tap.line() == line
            deadline = time.monotonic() + SECONDS
            while not (file.exists() and file.stat().st_size and line in texts_of(file, "agent")):
                assert time.monotonic() < deadline, "it is not recorded"
                select.select([], [], [], 0.01)
            assert line in texts_of(file, "client")
        assert tap.end() == 0


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_any_bytes_in_any_cuts_pass_unchanged_both_ways(tmp_path: Path, seed: int) -> None:
    file, heard = tmp_path / "trace.jsonl", tmp_path / "heard"
    with Tapped([*NOISE, str(seed), str(heard)], "-w", str(file)) as tap:
        sent: list[str] = []

        def send() -> None:
            sent.append(noise.send(tap.stdin.fileno(), seed + 100))
            tap.stdin.close()

        sender = Thread(target=send)
        sender.start()
        received = noise.receive(tap.stdout.fileno())
        sender.join(SECONDS)
        assert tap.process.wait(SECONDS) == 0

    assert heard.read_text().split() == [sent[0], received]
    assert {record.type for record in records_of(file)} == {"header", "start", "text", "end"}


def test_the_trace_has_what_crossed_and_how_it_ended(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    agent = (
        "import sys; sys.stderr.write('warming up\\n'); print(sys.stdin.readline(), end=''); "
        "print('stray'); sys.exit(3)"
    )
    with Tapped([sys.executable, "-c", agent], "-w", str(file)) as tap:
        tap.send(b'{"jsonrpc":"2.0"}')
        assert tap.line() == b'{"jsonrpc":"2.0"}'
        assert tap.end() == 3
        assert tap.stderr.read() == b"warming up\n"

    header, start, *crossed, end = records_of(file)
    assert (header.format, header.version, header.redacted) == ("accord-trace", 1, True)
    assert start.command == header.command == [sys.executable, "-c", agent]
    assert sorted((each.type, each.source, each.raw, each.fault) for each in crossed) == [
        ("stderr", "agent", b"warming up", ""),
        ("text", "agent", b"stray", "not-json"),
        ("text", "agent", b'{"jsonrpc":"2.0"}', ""),
        ("text", "client", b'{"jsonrpc":"2.0"}', ""),
    ]
    assert (end.type, end.exit, end.texts, end.lost) == ("end", 3, 3, 0)
    assert file.stat().st_mode & 0o777 == 0o600


def test_content_length_frames_are_recognised(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    with Tapped(["cat"], "-w", str(file)) as tap:
        tap.stdin.write(b'Content-Length: 8\r\n\r\n{"id":1}Content-Length: 2\r\n\r\n{}')
        assert tap.end() == 0

    texts = [record for record in records_of(file) if record.type == "text"]
    assert {(record.raw, record.framing) for record in texts} == {(b'{"id":1}', "headers"), (b"{}", "headers")}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_go_on_to_the_agent_and_its_status_comes_back(tmp_path: Path, number: int) -> None:
    agent = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: sys.exit(40))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(0.05)"
    )
    with Tapped([sys.executable, "-c", agent], "-w", str(tmp_path / "trace.jsonl")) as tap:
        assert tap.line() == b"ready"
        tap.process.send_signal(number)
        assert tap.process.wait(SECONDS) == 40


def test_an_agent_that_a_signal_ended_is_128_and_its_number(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    with Tapped(["sh", "-c", "kill -9 $$"], "-w", str(file)) as tap:
        assert tap.end() == 137

    assert records_of(file)[-1].signal == 9


def test_a_killed_tap_leaves_no_agent_behind(tmp_path: Path) -> None:
    with Tapped(["sh", "-c", STUBBORN], "-w", str(tmp_path / "trace.jsonl")) as tap:
        pid = int(tap.line())
        tap.kill()
        wait_until_gone(pid)


def test_an_agent_that_does_not_read_stops_its_client_and_not_the_memory(tmp_path: Path) -> None:
    agent = "import sys, time; print('ready', flush=True); time.sleep(3600)"
    with Tapped([sys.executable, "-c", agent], "-w", str(tmp_path / "trace.jsonl")) as tap:
        assert tap.line() == b"ready"
        os.set_blocking(tap.stdin.fileno(), False)
        accepted, quiet_since = 0, time.monotonic()
        while time.monotonic() - quiet_since < limit(0.4):
            try:
                accepted += os.write(tap.stdin.fileno(), b"x" * 65536)
                quiet_since = time.monotonic()
            except BlockingIOError:
                select.select([], [tap.stdin], [], 0.1)
            assert accepted < 4 * 1024 * 1024

    # Two pipes, and one read between them.
    assert accepted <= 1024 * 1024


def test_a_client_that_reads_late_gets_everything_of_an_agent_that_has_ended(tmp_path: Path) -> None:
    agent = "import sys; sys.stdout.write('x' * 3_000_000)"
    with Tapped([sys.executable, "-c", agent], "-w", str(tmp_path / "trace.jsonl")) as tap:
        select.select([], [], [], limit(0.6))
        assert len(tap.stdout.read()) == 3_000_000
        assert tap.process.wait(SECONDS) == 0


def test_a_full_disk_costs_records_and_one_line_and_nothing_of_the_talk(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    with Tapped(["cat"], "-w", str(file), max_file_bytes=8192) as tap:
        for number in range(200):
            line = b'{"n":%d,"text":"%s"}' % (number, b"y" * 500)
            tap.send(line)
            assert tap.line() == line
        assert tap.end() == 0
        complaints = tap.stderr.read().splitlines()

    assert len(complaints) == 1
    assert b"the conversation goes on" in complaints[0]
    assert file.read_bytes().endswith(b"\n")
    records = records_of(file)
    texts = sum(record.type == "text" for record in records)
    assert 0 < texts < 400
    # The end may still find a place.
    assert all((end.texts, end.lost) == (400, 400 - texts) for end in records if end.type == "end")


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc shows the children of a process")
# Between other tests the line was missing twice in five runs, alone never; the cause is not found yet.
@pytest.mark.every
def test_a_killed_recorder_costs_one_line_and_nothing_of_the_talk(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    with Tapped(["sh", "-c", "echo ready; exec cat"], "-w", str(file)) as tap:
        assert tap.line() == b"ready"
        recorder = recorder_of(tap)
        os.kill(recorder, signal.SIGKILL)
        wait_until_gone(recorder)
        for number in range(200):
            line = b'{"n":%d,"text":"%s"}' % (number, b"y" * 500)
            tap.send(line)
            assert tap.line() == line
        assert tap.end() == 0
        assert tap.stderr.read().count(b"the recorder has ended") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc shows the children of a process")
def test_a_recorder_that_was_stopped_costs_one_line_and_nothing_of_the_talk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_process, "_STUCK_SECONDS", 0.5)
    # More than the pipe to the recorder holds.
    count, line = 300, b'{"text":"%s"}' % (b"y" * 9_000)
    with Tapped(["sh", "-c", "echo ready; exec cat"], "-w", str(tmp_path / "trace.jsonl")) as tap:
        assert tap.line() == b"ready"
        recorder = recorder_of(tap)
        os.kill(recorder, signal.SIGSTOP)
        for _ in range(count):
            tap.send(line)
            assert tap.line() == line
        assert tap.end() == 0
        wait_until_gone(recorder)
        assert tap.stderr.read().count(b"the recorder has taken nothing for") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc shows the children of a process")
def test_a_stopped_recorder_is_continued_at_the_end_and_records_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    with Tapped(["sh", "-c", "echo ready; read line; echo $line; exit 3"], "-w", str(file)) as tap:
        assert tap.line() == b"ready"
        recorder = recorder_of(tap)
        os.kill(recorder, signal.SIGSTOP)
        tap.send(b"{}")
        assert tap.line() == b"{}"
        assert tap.end() == 3
        wait_until_gone(recorder)
        assert tap.stderr.read() == b""

    assert texts_of(file, "agent") == [b"ready", b"{}"]


def test_a_recorder_that_rests_ends_with_its_relay(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    # It would rest for an hour.
    code = (
        "import sys\n"
        "from accord.trace import TraceWriter, recorder_process\n"
        "recorder_process._REST_MILLISECONDS = recorder_process._LONGEST_REST_MILLISECONDS = 3_600_000\n"
        f"recorder = recorder_process.start_recorder(lambda: TraceWriter({str(file)!r}), sys.exit)\n"
        "recorder.take(1, b'one\\ntwo\\n', 0.0)\n"
        "sys.stdin.read()\n"
        "recorder.take(1, b'three\\n', 0.0)\n"
        "recorder.ended(0)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    deadline = time.monotonic() + SECONDS
    while not (file.exists() and file.stat().st_size and texts_of(file, "agent")) and time.monotonic() < deadline:
        select.select([], [], [], 0.01)
    process.communicate(timeout=SECONDS)
    while records_of(file)[-1].type != "end" and time.monotonic() < deadline:
        select.select([], [], [], 0.01)
    assert texts_of(file, "agent") == [b"one", b"two", b"three"]
    assert records_of(file)[-1].type == "end"


def recorder_of(tap: Tapped) -> int:
    """The child of a tap that runs the same program as the tap itself."""
    own = Path(f"/proc/{tap.process.pid}/cmdline").read_bytes()
    children = Path(f"/proc/{tap.process.pid}/task/{tap.process.pid}/children").read_text().split()
    (found,) = [int(pid) for pid in children if Path(f"/proc/{pid}/cmdline").read_bytes() == own]
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_empty_streams(tmp_path: Path, closed: str) -> None:
    file = tmp_path / "trace.jsonl"
    script = f'exec "$@" {closed}'
    # Also the test of a tap in an interpreter of its own.
    argv = ["sh", "-c", script, "sh", *TAP, "-w", str(file), "--", "sh", "-c", "cat; echo said; exit 3"]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stderr) == (3, b"")
    assert done.stdout == (b"" if ">&-" in closed.split() else b"said\n")
    assert texts_of(file, "agent") == [b"said"]


def test_a_file_that_cannot_be_made_costs_one_line(tmp_path: Path) -> None:
    with Tapped(["cat"], "-w", str(tmp_path / "missing" / "trace.jsonl")) as tap:
        tap.send(b"{}")
        assert tap.line() == b"{}"
        assert tap.end() == 0
        assert tap.stderr.read().count(b"nothing is recorded") == 1


def test_an_existing_file_or_link_is_never_written_to(tmp_path: Path) -> None:
    file, target, link = tmp_path / "trace.jsonl", tmp_path / "target", tmp_path / "link.jsonl"
    file.write_text("mine")
    link.symlink_to(target)
    for name, other in ((file, "trace-2.jsonl"), (link, "link-2.jsonl")):
        with Tapped(["cat"], "-w", str(name)) as tap:
            tap.send(b"{}")
            assert tap.end() == 0
        assert texts_of(tmp_path / other, "client") == [b"{}"]
    assert file.read_text() == "mine"
    assert not target.exists()


@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "link"])
def test_a_target_that_is_no_file_is_refused_before_the_agent_starts(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    if kind == "device":
        target = Path(os.devnull)
    elif kind == "pipe":
        os.mkfifo(target)
    elif kind == "folder":
        target.mkdir()
    else:
        target.symlink_to(os.devnull)
    with Tapped(["touch", str(tmp_path / "started")], "-w", str(target)) as tap:
        assert tap.end() == 2
        assert tap.stderr.read().count(b"\n") == 1
    assert not (tmp_path / "started").exists()
    assert not target.with_name(f"{target.name}-2").exists()


def test_secrets_are_in_no_file_unless_raw(tmp_path: Path) -> None:
    secrets = [b"hunter2hunter2", b"sk-live-abcdef0123456789", b"tok-header-value", b"c00kie-value"]
    said = (
        b'{"method":"session/new","params":{"mcpServers":[{"name":"a","env":[{"name":"PASS","value":"hunter2hunter2"}],'
        b'"headers":[{"name":"X-Any","value":"tok-header-value"}]}],"note":"use sk-live-abcdef0123456789",'
        b'"Cookie":"c00kie-value"}}'
    )
    agent = [sys.executable, "-c", "import sys; sys.stderr.write(sys.stdin.readline())", "--api-key", "hunter2hunter2"]
    for options in ([], ["--raw"]):
        file = tmp_path / f"trace{len(options)}.jsonl"
        with Tapped(agent, "-w", str(file), *options) as tap:
            tap.send(said)
            assert tap.end() == 0
        found = [secret for secret in secrets if secret in file.read_bytes()]
        assert found == (secrets if options else [])
    redacted = [
        record.redacted for record in records_of(tmp_path / "trace0.jsonl") if record.type in {"text", "stderr"}
    ]
    assert redacted == [True, True]


def test_the_default_file_is_in_the_state_folder_and_old_ones_go(tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    folder = tmp_path / "accord" / "traces"
    folder.mkdir(parents=True)
    for year in (2001, 2002, 2003):
        (folder / f"{year}0101T000000-old-999999999.jsonl").write_text("")
        (folder / f"{year}0101T000000-old-999999999.part2.jsonl").write_text("")
    with Tapped(["cat"], "--keep", "2", "-v", env=env) as tap:
        tap.send(b"{}")
        assert tap.end() == 0
        told = tap.stderr.read().decode()

    names = sorted(path.name for path in folder.iterdir())
    assert names[:2] == ["20030101T000000-old-999999999.jsonl", "20030101T000000-old-999999999.part2.jsonl"]
    assert len(names) == 3
    assert names[2].endswith(f"-cat-{tap.process.pid}.jsonl")
    assert names[2] in told


def test_a_large_talk_goes_on_in_parts_and_compressed(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl.gz"
    lines = [b'{"n":%d,"text":"%s"}' % (number, os.urandom(300).hex().encode()) for number in range(100)]
    with Tapped(["cat"], "-w", str(file), "--gzip", "--max-bytes", "10000") as tap:
        for line in lines[:50]:
            tap.send(line)
            assert tap.line() == line
        # A compressed part may be larger by what is written at once: the rest comes when this is in the file.
        deadline = time.monotonic() + SECONDS
        while not file.exists() or file.stat().st_size < 10_000:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        for line in lines[50:]:
            tap.send(line)
            assert tap.line() == line
        assert tap.end() == 0

    assert (tmp_path / "trace.part2.jsonl.gz").exists()
    assert texts_of(file, "client") == texts_of(file, "agent") == lines
