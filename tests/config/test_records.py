"""Records of sessions: the last one here, the one of a name; two processes at once, and one that is killed."""

from __future__ import annotations

import math
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from accord.config.records import ClientSessionRecord, Records, _open_once
from accord.errors import StoreError
from accord.stores.interface import clamped_time
from tests.stores.meanwhile import meanwhile
from tests.tables import rows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "accord" / "sessions.db"


@pytest.fixture
def records(path: Path) -> Iterator[Records]:
    with Records(path) as records:
        yield records


def test_the_last_session_in_a_directory_is_found(records: Records, tmp_path: Path) -> None:
    assert records.last(tmp_path) is None
    records.note("a", "s1", tmp_path, at=1.0)
    records.note("b", "s2", tmp_path, at=3.0)
    records.note("a", "s3", tmp_path, at=2.0)
    records.note("a", "s4", tmp_path / "elsewhere", at=9.0)
    last, last_of_a = records.last(tmp_path), records.last(tmp_path, "a")
    assert last == ClientSessionRecord("b", "s2", str(tmp_path), None, None, 3.0, 3.0)
    assert last_of_a is not None
    assert last_of_a.session_id == "s3"


def test_a_session_that_is_used_again_is_the_last_one_and_keeps_what_is_known(records: Records, tmp_path: Path) -> None:
    records.note("a", "s1", tmp_path, name="work", title="First", at=1.0)
    records.note("a", "s2", tmp_path, at=2.0)
    records.note("a", "s1", tmp_path, at=3.0)
    assert records.last(tmp_path) == ClientSessionRecord("a", "s1", str(tmp_path), "work", "First", 1.0, 3.0)
    records.note("a", "s1", tmp_path, title="Second", at=2.5)
    assert records.last(tmp_path) == ClientSessionRecord("a", "s1", str(tmp_path), "work", "Second", 1.0, 3.0)


def test_a_name_means_one_session_of_an_agent_in_a_directory(records: Records, tmp_path: Path) -> None:
    records.note("a", "s1", tmp_path, name="work", at=1.0)
    records.note("a", "s2", tmp_path, name="work", at=2.0)
    records.note("b", "s3", tmp_path, name="work", at=3.0)
    records.note("a", "s4", tmp_path / "other", name="work", at=4.0)
    found = records.named("work", tmp_path, "a")
    assert found is not None
    assert found.session_id == "s2"
    assert [record.name for record in records.find("s1")] == [None]
    assert records.named("play", tmp_path) is None


def test_a_session_is_found_by_the_beginning_of_its_id(records: Records, tmp_path: Path) -> None:
    for number, session_id in enumerate(("abc", "abd", "ab", "x%_")):
        records.note("a", session_id, tmp_path, at=float(number))
    assert [record.session_id for record in records.find("abc")] == ["abc"]
    assert [record.session_id for record in records.find("ab")] == ["ab"]
    assert [record.session_id for record in records.find("a")] == ["ab", "abd", "abc"]
    assert [record.session_id for record in records.find("x%")] == ["x%_"]
    assert records.find("%") == []


def test_records_are_listed_last_first_and_forgotten(records: Records, tmp_path: Path) -> None:
    records.note("a", "s1", tmp_path, at=1.0)
    records.note("b", "s1", tmp_path / "x", at=2.0)
    assert [record.agent for record in records.all()] == ["b", "a"]
    assert [record.agent for record in records.all(cwd=tmp_path)] == ["a"]
    assert [record.agent for record in records.all(agent="b")] == ["b"]
    assert records.forget("a", "s1")
    assert not records.forget("a", "s1")
    assert [record.agent for record in records.all()] == ["b"]


def test_a_directory_is_the_same_by_whichever_way(records: Records, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    records.note("a", "s1", tmp_path / "alias")
    assert records.last(tmp_path / "real") is not None


@given(st.text(st.characters()), st.text(st.characters(), min_size=1), st.text(st.characters()))
def test_whatever_an_agent_calls_its_sessions_is_kept(
    tmp_path_factory: pytest.TempPathFactory, agent: str, session_id: str, title: str
) -> None:
    with Records(tmp_path_factory.getbasetemp() / "any.db") as records:
        records.note(agent, session_id, "/", title=title, at=1.0)
        assert any(record.session_id == session_id for record in records.find(session_id, agent))
        records.forget(agent, session_id)


def test_the_file_is_for_its_owner_alone(records: Records, path: Path) -> None:
    assert records.all() == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_another_programs_file_is_refused(path: Path) -> None:
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (a)")
    other.close()
    with pytest.raises(StoreError) as caught:
        Records(path)
    assert (caught.value.reason, caught.value.path) == ("foreign", str(path))


def test_a_later_versions_file_is_refused(records: Records, path: Path) -> None:
    assert records.all() == []
    later = sqlite3.connect(path)
    later.execute("PRAGMA user_version = 99")
    later.close()
    with pytest.raises(StoreError) as caught:
        Records(path)
    assert caught.value.reason == "newer"


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database at all, but long enough to be looked at" * 20)
    with pytest.raises(StoreError) as caught:
        Records(path)
    assert caught.value.reason == "damaged"


DAMAGES = (
    "agent = x'ff'",
    "session_id = 7",
    "cwd = 7.5",
    "name = x'ff'",
    "title = 7",
    "updated_at = 'yesterday'",
    "created_at = x'00'",
)
STRANGE = (
    "updated_at = 1e18",
    "updated_at = 9e999",
    "created_at = -9e999",
    "title = cast(x'ff' as text)",
    "owner = x'00'",
)


@rows("damage", [(each, True) for each in DAMAGES] + [(each, False) for each in STRANGE])
def test_one_row_ends_no_list(path: Path, damage: tuple[str, bool]) -> None:
    sql, is_left_out = damage
    path.unlink(missing_ok=True)
    with Records(path) as records:
        for time, name in enumerate("abc", 1):
            records.note("agent", name, "/", at=float(time))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute(f"UPDATE records SET {sql} WHERE session_id = 'b'")  # noqa: S608
        other.close()
        found = {each.session_id: each for each in records.all()}
        assert set(found) == ({"a", "c"} if is_left_out else {"a", "b", "c"})
        assert records.left_out == ([] if not is_left_out else ["7" if "session_id" in sql else "b"])
        for each in found.values():
            assert clamped_time(each.updated_at) == each.updated_at
            assert clamped_time(each.created_at) == each.created_at


def test_a_time_is_checked_where_it_is_noted(records: Records) -> None:
    for name, time in (("a", math.nan), ("b", 1e18)):
        records.note("agent", name, "/", at=time)
    assert {each.session_id: each.updated_at for each in records.all()} == {"a": 0.0, "b": clamped_time(1e18)}


def test_a_locked_file_is_waited_for_and_then_told(records: Records, path: Path) -> None:
    assert records.all() == []
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with Records(path, busy_seconds=0.05) as late, pytest.raises(StoreError) as caught:
        late.note("a", "s", "/")
    holder.close()
    assert caught.value.reason == "busy"


def test_a_file_that_another_process_is_just_setting_up_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[Path] = []

    def busy_at_first(place: Path, busy_seconds: float) -> sqlite3.Connection:
        tries.append(place)
        if len(tries) < 3:
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        return _open_once(place, busy_seconds)

    monkeypatch.setattr("accord.config.records._open_once", busy_at_first)
    with Records(path) as records:
        assert records.all() == []
    assert tries == [path] * 3


PROGRAM = """
import sys
from accord.config.records import Records
for number in range(int(sys.argv[3])):
    with Records(sys.argv[1]) as records:
        records.note(sys.argv[2], f"s{number}", "/w", name="work")
        print(number, flush=True)
"""


def test_two_processes_write_at_once_from_the_first_moment(path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, str(path), name, "30"], stdout=subprocess.DEVNULL)
        for name in ("a", "b", "c")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    with Records(path) as records:
        assert len(records.all()) == 90
        assert [record.session_id for record in records.all() if record.name] == ["s29"] * 3


def test_what_was_noted_outlives_a_kill(path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(path), "a", "1000000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        seen = [int(writer.stdout.readline()) for _ in range(20)]
        writer.send_signal(signal.SIGKILL)
    with Records(path) as records:
        kept = {record.session_id for record in records.all()}
    assert {f"s{number}" for number in seen} <= kept


def test_a_file_that_another_makes_during_the_first_look_is_not_taken_for_a_strangers(path: Path) -> None:
    path.parent.mkdir(parents=True)
    with meanwhile("PRAGMA user_version", lambda: Records(path).close()), Records(path) as records:
        records.note("a", "s", "/w")
    with Records(path) as records:
        assert len(records.all()) == 1


FIXTURES = Path(__file__).parent / "fixtures"


def test_a_session_keeps_its_key_until_a_new_session_of_that_id_has_another(records: Records, tmp_path: Path) -> None:
    records.note("a", "s1", tmp_path)
    assert [record.key for record in records.find("s1")] == [None]
    records.note("a", "s1", tmp_path, key="1" * 32)
    records.note("a", "s1", tmp_path, title="again")
    assert [record.key for record in records.find("s1")] == ["1" * 32]
    records.note("a", "s1", tmp_path, key="2" * 32)
    records.note("b", "s1", tmp_path)
    assert {record.agent: record.key for record in records.find("s1")} == {"a": "2" * 32, "b": None}


def first_version(path: Path) -> Path:
    path.parent.mkdir()
    return Path(shutil.copyfile(FIXTURES / "records-1.db", path))


def test_records_of_version_1_open_and_have_no_keys(path: Path) -> None:
    first_version(path)
    for _ in range(2):
        with Records(path) as records:
            assert records.all() == [
                ClientSessionRecord(
                    "demo", "half \ud83d", "/home/ada/project", None, "T\ud83d", 1700000003.0, 1700000003.0
                ),
                ClientSessionRecord("-- agent --acp", "s2", "/home/ada/other", None, None, 1700000002.0, 1700000002.0),
                ClientSessionRecord("demo", "s1", "/home/ada/project", "work", "First", 1700000001.5, 1700000001.5),
            ]
    with Records(path) as records:
        records.note("demo", "s1", "/home/ada/project", key="1" * 32)
        assert [record.key for record in records.find("s1")] == ["1" * 32]


def test_records_that_another_process_upgrades_meanwhile_are_upgraded_once(path: Path) -> None:
    first_version(path)
    with meanwhile("BEGIN IMMEDIATE", lambda: Records(path).close()), Records(path) as records:
        assert len(records.all()) == 3


def test_many_processes_that_open_records_of_version_1_at_once_lose_nothing(path: Path) -> None:
    first_version(path)
    writers = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, str(path), name, "10"], stdout=subprocess.DEVNULL)
        for name in ("a", "b", "c")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    with Records(path) as records:
        assert len(records.all()) == 33


# --- sessions that nobody prompted


def test_a_session_that_was_only_opened_is_open_as_long_as_its_process_has_it(path: Path, tmp_path: Path) -> None:
    with Records(path) as ours, Records(path, read_only=True) as reader:
        ours.note("a", "s1", tmp_path, opened=True, at=1.0)
        (found,) = reader.all()
        assert (found.prompted, found.is_open, found.prompt) == (False, True, None)
    with Records(path, read_only=True) as reader:
        (found,) = reader.all()
        assert (found.prompted, found.is_open) == (False, False)


def test_the_first_prompt_is_kept_and_later_ones_change_nothing(records: Records, tmp_path: Path) -> None:
    records.note("a", "s1", tmp_path, opened=True, key="k")
    records.note("a", "s1", tmp_path, key="k", prompt="first")
    records.note("a", "s1", tmp_path, key="k", prompt="second")
    records.note("a", "s1", tmp_path, key="k", opened=True)
    (found,) = records.all()
    assert (found.prompted, found.prompt) == (True, "first")
    records.note("a", "s1", tmp_path, key="another session", opened=True)
    (found,) = records.all()
    assert (found.prompted, found.prompt) == (False, None)


def test_the_last_session_is_one_that_was_prompted_where_there_is_one(records: Records, tmp_path: Path) -> None:
    records.note("a", "empty", tmp_path, opened=True, at=1.0)
    last = records.last(tmp_path)
    assert last is not None
    assert last.session_id == "empty"
    records.note("a", "used", tmp_path, at=2.0)
    records.note("a", "empty", tmp_path, opened=True, at=3.0)
    last = records.last(tmp_path)
    assert last is not None
    assert last.session_id == "used"


def test_after_a_week_the_record_of_a_session_that_nobody_prompted_or_has_open_is_dropped(
    path: Path, tmp_path: Path
) -> None:
    day = 24 * 3600.0
    with Records(path) as gone:
        gone.note("a", "old", tmp_path, opened=True, at=0.0)
        gone.note("a", "young", tmp_path, opened=True, at=2 * day)
        gone.note("a", "prompted", tmp_path, at=0.0)
    # Another process of this machine, so that its owner file is another one.
    script = "import sys; from accord.config.records import Records; r = Records(sys.argv[1])\n"
    script += "r.note('a', 'open', '/', opened=True, at=0.0); print('noted', flush=True); sys.stdin.read()"
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder, Records(path) as records:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "noted\n"
        records.note("a", "new", tmp_path, opened=True, at=8 * day)
        assert {each.session_id for each in records.all()} == {"new", "young", "prompted", "open"}
        assert holder.stdin is not None
        holder.stdin.close()
        holder.wait(60)
        records.note("a", "new", tmp_path, opened=True, at=8 * day)
        assert {each.session_id for each in records.all()} == {"new", "young", "prompted"}


def test_what_an_earlier_version_noted_counts_as_prompted(tmp_path: Path) -> None:
    kept = tmp_path / "records.db"
    shutil.copyfile(Path(__file__).parent / "fixtures" / "records-2.db", kept)
    for read_only in (True, False):
        with Records(kept, read_only=read_only) as records:
            assert [(each.session_id, each.prompted, each.is_open) for each in records.all()] == [
                ("s2", True, False),
                ("s1", True, False),
            ]
            assert records.all()[1].key == "k1"
