"""The command in an environment that lacks something: one line names the cause, with the right exit code.

What can only be made by root (another user, a mount) is skipped elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import PIPE
from typing import Any, TypeAlias

import pytest

from accord.cli import session_index
from accord.version import install_line
from tests.cli.command import Accord, Result, scripted
from tests.cli.test_bad_input import one_line
from tests.limits import limit

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="users, modes and mounts: run it on Linux")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="it becomes another user or mounts something: run it as root")

# A user that no password database has. Whoever runs the tests may keep the interpreter where others cannot enter.
NOBODY = 54321
BECOME = (
    "setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
    "--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search",
)  # fmt: skip
PIPES: dict[str, Any] = {"stdin": PIPE, "stdout": PIPE, "stderr": PIPE}
Changes: TypeAlias = Mapping[str, str | None]
READING_VERBS = (("agents", "ls"), ("sessions", "ls"))


def run(
    accord: Accord, *words: str, umask: int = -1, before: tuple[str, ...] = (), env: Changes | None = None
) -> Result:
    """The command with another environment, or behind another program; None unsets a variable."""
    changed = {**accord.env, **(env or {})}
    full = {name: value for name, value in changed.items() if value is not None}
    if umask >= 0:
        return accord.on_pipes(*words, env=full, umask=umask)
    if not before:
        return accord(*words, env=full)
    return accord.end_of(subprocess.Popen([*before, *accord.argv, *words], **PIPES, cwd=accord.cwd, env=full))


def noted(result: Result) -> None:
    assert result.status == 0, result.stderr
    assert result.stderr.strip() == "", result.stderr


# --- extras that are not installed


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("module", "extra", "words"),
    [
        ("h11", "serve", ("serve", "demo")),
        ("uvicorn", "serve", ("serve", "demo")),
        ("h11", "serve", ("serve", "--add-token", "ann", "--token-file", "tokens.json")),
        ("websockets", "http", ("run", "ws://127.0.0.1:1/acp", "hello")),
        ("httpx2", "http", ("run", "http://127.0.0.1:1/acp", "hello")),
    ],
)
def test_a_missing_extra_is_one_line_that_says_what_to_type(
    tmp_path: Path, module: str, extra: str, words: tuple[str, ...]
) -> None:
    program = f"import sys; sys.modules[{module!r}] = None; from accord.cli.main import main; sys.exit(main())"
    line = [sys.executable, "-c", program, *words]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=limit(40), check=False)
    assert done.returncode in {2, 7}
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert install_line(extra) in lines[0]
    assert "?" not in lines[0]


def test_an_application_without_its_extra_is_an_error_that_says_what_to_type() -> None:
    program = "import sys; sys.modules['h11'] = None; import accord; accord.Agent('a').asgi()"
    line = [sys.executable, "-c", program]
    done = subprocess.run(line, capture_output=True, text=True, timeout=limit(40), check=False)
    assert done.stderr.splitlines()[-1].startswith("accord.errors.LocalProtocolError")
    assert install_line("serve") in done.stderr


# --- the home directory


@as_root
@pytest.mark.sampled(3)
@pytest.mark.parametrize("words", [*READING_VERBS, ("run", "hi", *scripted("plain"))])
def test_no_home_and_no_entry_in_the_password_database(accord: Accord, words: tuple[str, ...]) -> None:
    accord.cwd.chmod(0o777)
    result = run(accord, *words, before=BECOME, env={"HOME": None})
    one_line(result, 2, "config: HOME: expected the absolute path of your home directory", f"the user {NOBODY}")


@as_root
def test_no_home_is_needed_where_every_folder_is_named(accord: Accord) -> None:
    accord.cwd.chmod(0o777)
    accord.home.chmod(0o777)
    folders = {f"XDG_{name}_HOME": str(accord.home / name) for name in ("CONFIG", "STATE", "CACHE")}
    noted(run(accord, "run", "hi", *scripted("plain"), before=BECOME, env={"HOME": None, **folders}))
    listed = run(accord, "sessions", "ls", "--json", before=BECOME, env={"HOME": None, **folders})
    assert (listed.status, "s-1234567890" in listed.stdout) == (0, True)


@pytest.mark.parametrize("words", [*READING_VERBS, ("run", "hi", *scripted("plain"))])
def test_a_relative_home_is_refused_and_nothing_is_made_there(accord: Accord, words: tuple[str, ...]) -> None:
    result = run(accord, *words, env={"HOME": "rel"})
    one_line(result, 2, "config: HOME: expected the absolute path", "HOME is 'rel'")
    assert list(accord.cwd.iterdir()) == []


def test_an_empty_home_is_none_and_the_password_database_counts(accord: Accord) -> None:
    folders = {f"XDG_{name}_HOME": str(accord.home / name) for name in ("CONFIG", "STATE", "CACHE")}
    noted(run(accord, "agents", "ls", env={"HOME": "", **folders}))


def test_relative_folders_of_the_desktop_are_ignored(accord: Accord) -> None:
    folders = {f"XDG_{name}_HOME": f"rel/{name}" for name in ("CONFIG", "STATE", "CACHE", "DATA")}
    noted(run(accord, "run", "hi", *scripted("plain"), env=folders))
    assert (accord.home / ".local" / "state" / "accord" / "sessions.db").is_file()
    assert not (accord.cwd / "rel").exists()


def test_a_home_that_is_no_directory_stops_no_run(accord: Accord) -> None:
    home = "/dev/null"
    result = run(accord, "run", "hi", *scripted("plain"), env={"HOME": home})
    one_line(result, 0, "sessions are not noted", "Not a directory")
    assert "hello" in result.stdout
    assert run(accord, "agents", "ls", env={"HOME": home}).status == 0
    assert run(accord, "sessions", "ls", env={"HOME": home}).status == 0
    one_line(run(accord, "agents", "add", "x", "--", "y", env={"HOME": home}), 2, "config: ", "Not a directory")


def test_the_home_of_nobody_in_a_config_is_a_program_that_is_not_there(accord: Accord) -> None:
    accord.config.write_text(
        '{"agent_servers": {"mine": {"command": "~no-such-user/x", "cwd": "~no-such-user"}}}', encoding="utf-8"
    )
    assert run(accord, "agents", "ls").status == 0
    one_line(run(accord, "run", "mine", "hi"), 7, "start: ", "No such file")


def test_a_directory_that_was_deleted(accord: Accord) -> None:
    gone = accord.cwd / "gone"
    for words in (("agents", "ls"), ("run", "hi", *scripted("plain"))):
        gone.mkdir()
        result = accord.on_pipes(*words, cwd=gone, preexec_fn=gone.rmdir)
        one_line(result, 2, "usage: the current directory cannot be used", "No such file")


# --- the line


@pytest.mark.parametrize("words", [("run", "hi"), ("agents", "add", "x"), ("sessions", "ls"), ("check",)])
def test_a_command_without_a_program(accord: Accord, words: tuple[str, ...]) -> None:
    one_line(accord(*words, "--", ""), 2, "usage: the command behind -- is empty")
    one_line(accord(*words, "--"), 2, "usage: a command must follow --")
    assert not accord.config.exists()


def test_a_variable_without_a_name(accord: Accord) -> None:
    one_line(accord("run", "hi", "--env", "=x", *scripted("plain")), 2, "--env =x: expected K=V")
    one_line(accord("agents", "add", "x", "--env", "=", "--", "y"), 2, "--env =: expected K=V")


def test_a_variable_without_a_name_in_the_config(accord: Accord) -> None:
    accord.config.write_text('{"agent_servers": {"mine": {"command": "x", "env": {"": "y"}}}}', encoding="utf-8")
    one_line(accord("run", "mine", "hi"), 2, 'agent_servers.mine.env[""]: expected a variable\'s name')


def test_a_name_that_the_config_could_not_keep(accord: Accord) -> None:
    one_line(accord("agents", "add", "a\x1bb", "--", "y"), 2, "cannot be an agent's name")
    assert not accord.config.exists()


# --- the modes of what is made


def modes(folder: Path) -> dict[str, int]:
    found = {folder.name: stat.S_IMODE(folder.stat().st_mode)}
    return found | {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize("umask", [0, 0o022, 0o777], ids=oct)
def test_what_is_made_is_private_whatever_the_umask_is(accord: Accord, umask: int) -> None:
    if umask == 0o777 and os.geteuid() == 0:
        # root may enter what nobody may; the modes are what counts.
        accord.home.chmod(0o700)
    noted(run(accord, "run", "hi", *scripted("plain"), umask=umask))
    noted(run(accord, "agents", "add", "x", "--", "y", umask=umask))
    content = '{"agent_servers": {"mine": {"command": "no-such-program"}}}'
    (accord.cwd / "acp.json").write_text(content, encoding="utf-8")
    assert run(accord, "run", "mine", "hi", "--trust", umask=umask).status == 7
    made = {name: mode for top in (".config", ".local") for name, mode in modes(accord.home / top).items()}
    assert {"accord/acp.json", "state/accord/sessions.db", "state/accord/trusted.jsonl"} <= set(made)
    wrong = {name: oct(mode) for name, mode in made.items() if mode not in {0o700, 0o600}}
    assert wrong == {}


def test_folders_that_an_earlier_version_left_open_are_closed(accord: Accord) -> None:
    state = accord.home / ".local" / "state"
    for folder in (state.parent, state, state / "accord"):
        folder.mkdir()
        folder.chmod(0o777)
    noted(run(accord, "run", "hi", *scripted("plain")))
    assert stat.S_IMODE((state / "accord").stat().st_mode) == 0o700
    # That one is not ours.
    assert stat.S_IMODE(state.stat().st_mode) == 0o777


# --- the state folder


@contextlib.contextmanager
def mounted(folder: Path, *options: str) -> Iterator[Path]:
    """A file system of its own at the folder."""
    if shutil.which("mount") is None:
        pytest.skip("there is no mount command")
    done = subprocess.run(["mount", *options, str(folder)], capture_output=True, timeout=limit(20), check=False)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], timeout=limit(20), check=True)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    with mounted(folder, "--bind", str(folder)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], timeout=limit(20), check=True)
        yield folder


@as_root
def test_everything_that_only_reads_works_on_a_read_only_file_system(accord: Accord) -> None:
    noted(run(accord, "run", "hi", *scripted("plain")))
    noted(run(accord, "agents", "add", "x", "--", "y"))
    with read_only(accord.home):
        listed = run(accord, "sessions", "ls")
        assert (listed.status, "s-1234567890" in listed.stdout) == (0, True), listed.stderr
        assert run(accord, "agents", "ls").status == 0
        # The session is found; it is this agent that has no way to go on with it.
        one_line(run(accord, "run", "-c", "hi", *scripted("plain")), 4, "the agent cannot go on with the session s-12")
        one_line(run(accord, "run", "hi", *scripted("plain")), 0, "sessions are not noted", "cannot be written")
        one_line(run(accord, "agents", "add", "z", "--", "y"), 2, "acp.json", "Read-only file system")
        one_line(run(accord, "agents", "rm", "x"), 2, "acp.json", "Read-only file system")
        one_line(run(accord, "sessions", "rm", "--local", "s-12"), 2, "session: the records of sessions", "read")


def test_the_built_in_agent_keeps_its_sessions_in_memory_where_its_folder_cannot_be_written(accord: Accord) -> None:
    (accord.home / ".local").write_text("in the way")
    result = run(accord, "run", "demo", "hello")
    one_line(result, 0, "sessions are not noted")
    assert "go on" not in result.stdout


@as_root
def test_the_built_in_agent_works_on_a_read_only_file_system(accord: Accord) -> None:
    noted(run(accord, "run", "demo", "hello"))
    with read_only(accord.home):
        one_line(run(accord, "run", "demo", "hello"), 0, "sessions are not noted")


@as_root
def test_a_listing_where_nothing_was_ever_noted_makes_nothing(accord: Accord) -> None:
    with read_only(accord.home):
        listed = run(accord, "sessions", "ls")
        assert (listed.status, "there are no sessions" in listed.stdout) == (0, True), listed.stderr
    assert run(accord, "sessions", "ls").status == 0
    assert list(accord.home.iterdir()) == []


@as_root
def test_records_whose_writer_died_are_read_on_a_read_only_file_system(accord: Accord) -> None:
    noted(run(accord, "run", "hi", *scripted("plain")))
    database = records_file(accord)
    script = (
        "import sqlite3, os, sys; c = sqlite3.connect(sys.argv[1]);"
        "c.execute(\"UPDATE records SET title = 'in the log'\"); c.commit(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, database], timeout=limit(30), check=False)
    assert database.with_name("sessions.db-wal").stat().st_size > 0
    with read_only(accord.home):
        listed = run(accord, "sessions", "ls")
    assert (listed.status, "in the log" in listed.stdout) == (0, True), listed.stderr


def records_file(accord: Accord) -> Path:
    return accord.home / ".local" / "state" / "accord" / "sessions.db"


def test_a_listing_does_not_wait_for_a_writer(accord: Accord) -> None:
    noted(run(accord, "run", "hi", *scripted("plain")))
    writer = sqlite3.connect(records_file(accord), isolation_level=None)
    with contextlib.closing(writer):
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("UPDATE records SET title = 'later'")
        listed = run(accord, "sessions", "ls")
    assert (listed.status, "s-1234567890" in listed.stdout) == (0, True), listed.stderr
    assert "later" not in listed.stdout


def test_a_listing_of_records_of_an_earlier_version_does_not_wait_for_a_writer(accord: Accord) -> None:
    records_file(accord).parent.mkdir(parents=True)
    shutil.copyfile(Path(__file__).parents[1] / "config" / "fixtures" / "records-1.db", records_file(accord))
    writer = sqlite3.connect(records_file(accord), isolation_level=None)
    with contextlib.closing(writer):
        writer.execute("BEGIN EXCLUSIVE")
        listed = run(accord, "sessions", "ls", "--all")
    assert (listed.status, "/home/ada/project" in listed.stdout) == (0, True), listed.stderr


def test_a_listing_behind_a_process_that_holds_the_whole_file_names_the_cause(
    accord: Accord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_index, "READ_SECONDS", 0.1)
    noted(run(accord, "run", "hi", *scripted("plain")))
    holder = sqlite3.connect(records_file(accord), isolation_level=None)
    with contextlib.closing(holder):
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        result = run(accord, "sessions", "ls")
    one_line(result, 2, "session: the records of sessions cannot be read", "another program keeps", "locked")
    assert result.stdout == ""


@pytest.mark.parametrize("at", [".local", ".local/state/accord"])
def test_a_file_in_the_place_of_the_state_folder_stops_no_run(accord: Accord, at: str) -> None:
    place = accord.home / at
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("a file", encoding="utf-8")
    result = run(accord, "run", "hi", *scripted("plain"))
    one_line(result, 0, "sessions are not noted", "Not a directory")
    assert "hello" in result.stdout


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["folder", "fifo", "foreign", "damaged", "newer"])
def test_records_that_cannot_be_used_are_named_and_stop_no_run(accord: Accord, kind: str) -> None:
    cause = make_records(records_file(accord), kind)
    result = run(accord, "sessions", "ls", "--json")
    one_line(result, 2, "session: the records of sessions cannot be read", cause)
    assert result.stdout == ""
    if kind == "newer":
        one_line(run(accord, "sessions", "show", "x"), 2, "cannot be read", cause)
        one_line(run(accord, "run", "-c", "hi", *scripted("plain")), 2, "cannot be read", cause)
        one_line(run(accord, "run", "-s", "name", "hi", *scripted("plain")), 2, "cannot be read", cause)
    one_line(run(accord, "run", "hi", *scripted("plain")), 0, "sessions are not noted", cause)


def make_records(path: Path, kind: str) -> str:
    """Something in the place of the records; returns a word of the cause."""
    path.parent.mkdir(parents=True)
    if kind == "folder":
        path.mkdir()
        return "no regular file"
    if kind == "fifo":
        os.mkfifo(path)
        return "no regular file"
    if kind == "damaged":
        path.write_bytes(b"no database, and long enough to be looked at as one" * 20)
        return "damaged"
    fixture = Path(__file__).parents[1] / "config" / "fixtures" / "records-1.db"
    shutil.copyfile(fixture, path)
    change, cause = {
        "foreign": ("PRAGMA application_id = 7", "belongs to another program"),
        "newer": ("PRAGMA user_version = 99", "a later version of Accord has written these records; update Accord"),
    }[kind]
    database = sqlite3.connect(path, isolation_level=None)
    database.execute(change)
    database.close()
    return cause


@as_root
def test_a_full_disk_stops_no_run(accord: Accord) -> None:
    state = accord.home / ".local" / "state"
    state.mkdir(parents=True)
    with mounted(state, "-t", "tmpfs", "-o", "size=8k", "tmpfs"):
        (state / "filling").write_bytes(bytes(4096))
        result = run(accord, "run", "hi", *scripted("plain"))
        one_line(result, 0, "sessions are not noted", "full")
        assert "hello" in result.stdout


@as_root
def test_folders_of_another_user_are_named(accord: Accord) -> None:
    noted(run(accord, "run", "hi", *scripted("plain")))
    accord.cwd.chmod(0o777)
    accord.home.chmod(0o755)
    (accord.cwd / "journal").unlink()
    # It may look into every folder here, and write into none.
    result = run(accord, "run", "hi", *scripted("plain"), before=BECOME)
    one_line(result, 0, "sessions are not noted", "cannot be written")
    one_line(run(accord, "agents", "add", "x", "--", "y", before=BECOME), 2, "config: ", "Permission denied")
