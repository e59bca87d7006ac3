"""Real files of every kind, read and written while others read, write and swap them."""

from __future__ import annotations

import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from accord.workspace import disk as disk_module
from accord.workspace.disk import Disk
from accord.workspace.errors import (
    AccessDenied,
    FileFailed,
    FileTooLarge,
    InvalidPath,
    NoSuchFile,
    NotADirectory,
    NotAFile,
    NotText,
    PathChanged,
    PathOutsideRoots,
    WorkspaceError,
)
from tests.limits import limit
from tests.workspace.trees import INSIDE, SECRET, Tree, descriptors, meanwhile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOBODY = 65534


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@pytest.fixture
def disk(tree: Tree) -> Disk:
    return Disk([tree.root])


@pytest.fixture(autouse=True)
def no_descriptor_is_left() -> Iterator[None]:
    before = descriptors()
    yield
    assert descriptors() == before


@contextmanager
def without_privilege() -> Iterator[None]:
    """Root may read everything; whoever runs the tests as root becomes somebody else for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_tree(tree: Tree) -> Tree:
    """A tree whose folders everybody may pass, on whatever way the tests' own folder has."""
    for folder in (tree.root.parent, *tree.root.parent.parents):
        if folder.stat().st_uid == os.geteuid() and folder.stat().st_mode & 0o1 == 0:
            folder.chmod(folder.stat().st_mode | 0o111)
    for folder in (tree.root, tree.root / "folder"):
        folder.chmod(0o777)
    return tree


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ["", "x", "\n", "a\nb", "a\nb\n", "a\r\nb\r\n", "\r", "\ufeffa\n", "é\u2028😀\0\n"])
def test_a_text_is_read_as_it_is(disk: Disk, tree: Tree, text: str) -> None:
    (tree.root / "file").write_bytes(text.encode())
    assert disk.read_text(tree.root / "file") == text
    assert disk.read_text(str(tree.root / "file"), 1) == text


@pytest.mark.parametrize(
    ("line", "limit", "expected"),
    [
        (0, None, "1\r\n2\n3"),
        (2, None, "2\n3"),
        (2, 1, "2\n"),
        (3, 5, "3"),
        (4, None, ""),
        (99, 1, ""),
        (None, 2, "1\r\n2\n"),
        (1, 0, ""),
    ],
)
def test_lines_are_chosen_by_number(disk: Disk, tree: Tree, line: int | None, limit: int | None, expected: str) -> None:
    (tree.root / "file").write_bytes(b"1\r\n2\n3")
    assert disk.read_text(tree.root / "file", line, limit) == expected


def test_lines_are_found_across_the_pieces_in_which_a_file_is_read(
    disk: Disk, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_module, "_CHUNK_BYTES", 7)
    (tree.root / "file").write_text("".join(f"line {number}\n" for number in range(100)), encoding="utf-8")
    assert disk.read_text(tree.root / "file", 50, 2) == "line 49\nline 50\n"


def test_a_missing_file_is_an_error_or_empty_as_chosen(tree: Tree) -> None:
    for path in ("missing", "missing/below", "dangling"):
        if path == "dangling":
            (tree.root / path).symlink_to("nowhere")
        with pytest.raises(NoSuchFile) as missing:
            Disk([tree.root]).read_text(tree.root / path)
        assert missing.value.code == -32002
        assert missing.value.path == str(tree.root / path)
        assert Disk([tree.root], missing="empty").read_text(tree.root / path) == ""
    with pytest.raises(PathOutsideRoots):
        Disk([tree.root], missing="empty").read_text(tree.outside / "missing")
    with pytest.raises(NoSuchFile):
        Disk([tree.root]).read_text(tree.root / "file" / "below")


@pytest.mark.parametrize(
    "path", ["{root}", "{root}/", "{root}/folder", "{root}/folder/", "{root}/file/", "{root}/folder/."]
)
def test_a_directory_is_no_file(disk: Disk, tree: Tree, path: str) -> None:
    for use in (disk.read_text, lambda path: disk.write_text(path, "x")):
        with pytest.raises(NotAFile) as refused:
            use(path.format(root=tree.root))
        assert refused.value.kind == "directory"


def test_a_fifo_a_socket_and_a_device_are_refused_at_once(disk: Disk, tree: Tree) -> None:
    os.mkfifo(tree.root / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tree.root / "socket"))
        begun = time.monotonic()
        for name in ("fifo", "socket"):
            for use in (disk.read_text, lambda path: disk.write_text(path, "x")):
                with pytest.raises(NotAFile) as refused:
                    use(tree.root / name)
                assert refused.value.kind == name
        assert time.monotonic() - begun < limit(5)
    assert stat.S_ISFIFO((tree.root / "fifo").stat().st_mode)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/dev/tty", "/dev/urandom"])
def test_a_device_is_refused_even_where_everything_is_the_root(path: str) -> None:
    with pytest.raises(NotAFile) as refused:
        Disk(["/"]).read_text(path)
    assert refused.value.kind == "device"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these files")
@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/self/mem", "/proc/1/cmdline", "/sys/kernel/mm/ksm/run"])
def test_a_file_of_the_kernel_is_refused_even_where_everything_is_the_root(path: str) -> None:
    if not Path(path).exists():
        pytest.skip(f"{path} is missing on this kernel")
    with pytest.raises((NotAFile, AccessDenied)) as refused:
        Disk(["/"]).read_text(path)
    assert getattr(refused.value, "kind", "kernel file") == "kernel file"


def test_the_links_of_proc_lead_nowhere(disk: Disk, tree: Tree) -> None:
    with (tree.outside / "file").open("rb") as file:
        for name, target in (
            ("descriptor", f"/proc/self/fd/{file.fileno()}"),
            ("root", "/proc/self/root/etc/passwd"),
            ("cwd", "/proc/self/cwd"),
            ("device", f"/dev/fd/{file.fileno()}"),
        ):
            (tree.root / name).symlink_to(target)
            with pytest.raises(PathOutsideRoots):
                disk.read_text(tree.root / name)
    # Read as texts they are ordinary links, and one to a file that is gone leads to nothing.
    descriptor = os.open(tree.root / "folder" / "file", os.O_RDONLY)
    (tree.root / "folder" / "file").unlink()
    with pytest.raises(WorkspaceError):
        Disk(["/"]).read_text(f"/proc/self/fd/{descriptor}")
    os.close(descriptor)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"ok\n\x80", b"\xed\xa0\x80", b"\x89PNG\r\n\x1a\n"])
def test_a_binary_file_is_refused(disk: Disk, tree: Tree, data: bytes) -> None:
    (tree.root / "file").write_bytes(data)
    with pytest.raises(NotText):
        disk.read_text(tree.root / "file")


def test_the_text_of_a_file_that_is_binary_elsewhere_can_be_read(disk: Disk, tree: Tree) -> None:
    (tree.root / "file").write_bytes(b"one\n\xff\nthree\n")
    assert disk.read_text(tree.root / "file", 1, 1) == "one\n"
    assert disk.read_text(tree.root / "file", 3) == "three\n"


def test_a_large_file_is_refused_but_not_its_lines(tree: Tree) -> None:
    disk = Disk([tree.root], max_bytes=1000)
    (tree.root / "file").write_text("0123456789\n" * 100, encoding="utf-8")
    with pytest.raises(FileTooLarge) as refused:
        disk.read_text(tree.root / "file")
    assert refused.value.limit_bytes == 1000
    assert disk.read_text(tree.root / "file", 99, 1) == "0123456789\n"
    (tree.root / "file").write_text("x" * 1000, encoding="utf-8")
    assert len(disk.read_text(tree.root / "file")) == 1000


def test_the_search_for_a_line_has_an_end(tree: Tree) -> None:
    with (tree.root / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    disk = Disk([tree.root], max_bytes=1000, max_scan_bytes=8 * 1024 * 1024)
    with pytest.raises(FileTooLarge):
        disk.read_text(tree.root / "sparse", 2, 1)


def test_a_name_that_is_too_long_is_refused(disk: Disk, tree: Tree) -> None:
    for use in (disk.read_text, lambda path: disk.write_text(path, "x")):
        with pytest.raises(InvalidPath):
            use(tree.root / ("x" * 300))


def test_what_the_system_forbids_is_denied(open_tree: Tree) -> None:
    root = open_tree.root
    disk = Disk([root])
    (root / "file").chmod(0)
    (root / "folder").chmod(0)
    (root / "locked").mkdir(mode=0o555)
    with without_privilege():
        for path in ("file", "folder/file"):
            with pytest.raises(AccessDenied) as denied:
                disk.read_text(root / path)
            assert denied.value.code == -32003
        for path in ("file", "folder/file", "folder/new", "locked/new", "locked/a/b"):
            with pytest.raises(AccessDenied):
                disk.write_text(root / path, "x")
    (root / "folder").chmod(0o755)
    assert (root / "file").read_text(encoding="utf-8") == INSIDE
    assert not list((root / "locked").iterdir())


def test_a_directory_that_may_be_passed_but_not_listed_is_passed(open_tree: Tree) -> None:
    (open_tree.root / "folder").chmod(0o711)
    (open_tree.root / "folder" / "file").chmod(0o644)
    disk = Disk([open_tree.root])
    with without_privilege():
        assert disk.read_text(open_tree.root / "folder" / "file") == INSIDE


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ["", "x", "a\r\nb\n", "é😀\0\n", "long\n" * 500_000])
def test_a_text_is_written_as_it_is(disk: Disk, tree: Tree, text: str) -> None:
    for path in ("new", "folder/new", "deep/er/new"):
        disk.write_text(tree.root / path, text)
        assert (tree.root / path).read_bytes() == text.encode()
    assert [entry.name for entry in (tree.root / "folder").iterdir() if entry.name.startswith(".")] == []


def test_parents_are_created_only_if_wanted(tree: Tree) -> None:
    disk = Disk([tree.root], create_parents=False)
    with pytest.raises(NoSuchFile):
        disk.write_text(tree.root / "deep" / "new", "x")
    disk.write_text(tree.root / "new", "x")
    assert not (tree.root / "deep").exists()


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o664, 0o4755])
def test_the_mode_is_kept(disk: Disk, tree: Tree, mode: int) -> None:
    (tree.root / "file").chmod(mode)
    disk.write_text(tree.root / "file", "new")
    assert stat.S_IMODE((tree.root / "file").stat().st_mode) == mode


def test_a_new_file_has_the_mode_that_new_files_have(disk: Disk, tree: Tree) -> None:
    (tree.root / "sample").touch()
    disk.write_text(tree.root / "new", "x")
    assert (tree.root / "new").stat().st_mode == (tree.root / "sample").stat().st_mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_the_owner_is_kept_or_the_file_loses_what_it_lends(disk: Disk, open_tree: Tree) -> None:
    os.chown(open_tree.root / "file", 1234, 2345)
    disk.write_text(open_tree.root / "file", "new")
    found = (open_tree.root / "file").stat()
    assert (found.st_uid, found.st_gid) == (1234, 2345)
    (open_tree.root / "file").chmod(0o6777)
    with without_privilege():
        disk.write_text(open_tree.root / "file", "newer")
    found = (open_tree.root / "file").stat()
    assert found.st_uid == NOBODY
    assert stat.S_IMODE(found.st_mode) == 0o777


def test_a_file_that_may_only_be_read_is_not_replaced(open_tree: Tree) -> None:
    (open_tree.root / "file").chmod(0o444)
    disk = Disk([open_tree.root])
    with without_privilege(), pytest.raises(AccessDenied):
        disk.write_text(open_tree.root / "file", "new")
    assert (open_tree.root / "file").read_text(encoding="utf-8") == INSIDE


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "x\r\ny\n", b"x\r\ny\r\n"),
        (b"a\nb\n", "x\r\ny\r\n", b"x\ny\n"),
        (b"a\r\nb\n", "x\ny\r\n", b"x\ny\r\n"),
        (b"", "x\r\ny\n", b"x\r\ny\n"),
        (b"\xff\r\n", "x\n", b"x\r\n"),
    ],
)
def test_line_ends_are_kept_unless_told_otherwise(tree: Tree, before: bytes, text: str, after: bytes) -> None:
    path = tree.root / "file"
    path.write_bytes(before)
    Disk([tree.root]).write_text(path, text)
    assert path.read_bytes() == after
    path.write_bytes(before)
    Disk([tree.root], keep_line_ends=False).write_text(path, text)
    assert path.read_bytes() == text.encode()


def test_half_a_character_is_written_as_a_replacement(disk: Disk, tree: Tree) -> None:
    disk.write_text(tree.root / "file", "x\ud83d")
    assert (tree.root / "file").read_text(encoding="utf-8") == "x\ufffd"


def test_a_link_stays_and_its_target_is_written(disk: Disk, tree: Tree) -> None:
    (tree.root / "link").symlink_to("folder/file")
    (tree.root / "dangling").symlink_to("folder/made")
    disk.write_text(tree.root / "link", "by link")
    disk.write_text(tree.root / "dangling", "by link")
    assert (tree.root / "link").is_symlink()
    for name in ("file", "made"):
        assert (tree.root / "folder" / name).read_text(encoding="utf-8") == "by link"


def test_nothing_outside_is_written(disk: Disk, tree: Tree) -> None:
    (tree.root / "out").symlink_to(tree.outside)
    (tree.root / "out_file").symlink_to(tree.outside / "file")
    (tree.root / "out_new").symlink_to("../outside/new")
    for path in ("out/file", "out/new", "out_file", "out_new", "../outside/file", "../outside/new"):
        with pytest.raises(PathOutsideRoots):
            disk.write_text(f"{tree.root}/{path}", "x")
    assert tree.outside_is_untouched()


def test_a_full_disk_leaves_the_file_as_it_was(disk: Disk, tree: Tree) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    heard = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(FileFailed) as failed:
            disk.write_text(tree.root / "file", "x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, heard)
    assert failed.value.number
    assert (tree.root / "file").read_text(encoding="utf-8") == INSIDE
    assert sorted(entry.name for entry in tree.root.iterdir()) == ["file", "folder"]


def test_readers_see_the_old_text_or_the_new_one(disk: Disk, tree: Tree) -> None:
    texts = ["a" * 200_000, "b" * 300_000]
    path = tree.root / "file"
    path.write_text(texts[0], encoding="utf-8")
    seen: set[str] = set()

    def write_both() -> None:
        for text in texts:
            disk.write_text(path, text)

    with meanwhile(write_both):
        for _ in range(300):
            seen.add(path.read_text(encoding="utf-8"))
            seen.add(disk.read_text(path))
    assert seen == set(texts)
    assert sorted(entry.name for entry in tree.root.iterdir()) == ["file", "folder"]


def test_many_writers_make_the_same_directories_without_getting_in_each_others_way(disk: Disk, tree: Tree) -> None:
    failures: list[BaseException] = []
    start = threading.Barrier(8)

    def write(number: int) -> None:
        start.wait(20)
        try:
            for depth in range(20):
                disk.write_text(tree.root / "shared" / str(depth) / "deep" / str(number), str(number))
        except WorkspaceError as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []
    assert len([path for path in (tree.root / "shared").rglob("*") if path.is_file()]) == 160


# ── somebody swaps what is being walked ──────────────────────────────────────────────────────────────


def swap_link(tree: Tree, name: str, *targets: Path) -> None:
    for target in targets:
        (tree.root / "next").symlink_to(target)
        (tree.root / "next").rename(tree.root / name)


def use_often(disk: Disk, path: Path, count: int, *, write: bool = False) -> tuple[set[str], int]:
    """What was read in so many uses, and how often one was refused."""
    seen: set[str] = set()
    refused = 0
    for _ in range(count):
        try:
            if write:
                disk.write_text(path, INSIDE)
            seen.add(disk.read_text(path))
        except WorkspaceError:
            refused += 1
    return seen, refused


def use_until_both(disk: Disk, path: Path, count: int, *, write: bool = False) -> tuple[set[str], int]:
    """At least so many uses, and until both were seen: a text and a refusal. Else nothing was proven."""
    seen, refused = use_often(disk, path, count, write=write)
    deadline = time.monotonic() + 20
    while not (seen and refused) and time.monotonic() < deadline:
        some_seen, some_refused = use_often(disk, path, 100, write=write)
        seen |= some_seen
        refused += some_refused
    return seen, refused


def test_no_read_follows_a_link_that_is_swapped(disk: Disk, tree: Tree) -> None:
    swap_link(tree, "link", tree.root / "file")
    with meanwhile(lambda: swap_link(tree, "link", tree.outside / "file", tree.root / "file")):
        seen, refused = use_until_both(disk, tree.root / "link", 2000)
    assert seen == {INSIDE}
    assert refused


def test_no_read_follows_a_file_that_becomes_a_link(disk: Disk, tree: Tree) -> None:
    def swap() -> None:
        (tree.root / "next").write_text(INSIDE, encoding="utf-8")
        (tree.root / "next").rename(tree.root / "file")
        swap_link(tree, "file", tree.outside / "file")

    with meanwhile(swap):
        seen, refused = use_until_both(disk, tree.root / "file", 2000)
    assert seen == {INSIDE}
    assert refused


def swap_folder(tree: Tree) -> None:
    """The folder goes away, a link to outside takes its place, and the folder comes back."""
    (tree.root / "folder").rename(tree.root / "away")
    (tree.root / "folder").symlink_to(tree.outside)
    (tree.root / "folder").unlink()
    (tree.root / "away").rename(tree.root / "folder")


def test_no_read_and_no_write_goes_through_a_folder_that_becomes_a_link(tree: Tree) -> None:
    disk = Disk([tree.root], create_parents=False)
    with meanwhile(lambda: swap_folder(tree)):
        seen, refused = use_until_both(disk, tree.root / "folder" / "file", 400)
        written, not_written = use_until_both(disk, tree.root / "folder" / "file", 400, write=True)
    assert seen | written == {INSIDE}
    assert refused
    assert not_written
    assert tree.outside_is_untouched()


def test_a_file_is_deleted_and_nothing_else_is(disk: Disk, tree: Tree) -> None:
    (tree.root / "link").symlink_to("file")
    (tree.root / "out").symlink_to(tree.outside / "file")
    os.mkfifo(tree.root / "fifo")
    for path, error in (
        (tree.root / "folder", NotAFile), (tree.root / "fifo", NotAFile), (tree.root / "missing", NoSuchFile),
        (tree.root / "out", PathOutsideRoots), (tree.outside / "file", PathOutsideRoots),
    ):  # fmt: skip
        with pytest.raises(error):
            disk.delete_file(path)
    disk.delete_file(tree.root / "link")
    assert not (tree.root / "file").exists()
    assert (tree.root / "folder" / "file").exists()
    assert tree.outside_is_untouched()


def test_a_file_is_deleted_only_where_it_was_agreed_on(disk: Disk, tree: Tree) -> None:
    with pytest.raises(PathChanged):
        disk.delete_file(tree.root / "file", expected=tree.root / "folder" / "file")
    assert (tree.root / "file").exists()


def test_no_write_follows_a_file_that_becomes_a_link(disk: Disk, tree: Tree) -> None:
    with meanwhile(lambda: swap_link(tree, "file", tree.outside / "file", tree.root / "folder" / "file")):
        use_often(disk, tree.root / "file", 2000, write=True)
    assert tree.outside_is_untouched()


SWAPPER = """
    import os, sys
    root, outside = sys.argv[1:]
    os.chdir(root)
    parent = os.getppid()
    print("ready", flush=True)
    while os.getppid() == parent:
        os.rename("folder", "away")
        os.symlink(outside, "folder")
        os.unlink("folder")
        os.rename("away", "folder")
        os.symlink(outside + "/file", "next")
        os.rename("next", "file")
        with open("next", "w") as file:
            file.write("inside\\n")
        os.rename("next", "file")
"""


@contextmanager
def another_process_swaps(tree: Tree) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", textwrap.dedent(SWAPPER), str(tree.root), str(tree.outside)],
        stdout=subprocess.PIPE,
    ) as swapper:
        try:
            assert swapper.stdout is not None
            assert swapper.stdout.readline() == b"ready\n"
            yield
            assert swapper.poll() is None
        finally:
            swapper.kill()


def use_both(tree: Tree, rounds: int) -> None:
    """Each round reads two files and writes one of them, in turns."""
    disk = Disk([tree.root], create_parents=False)
    seen: set[str] = set()
    refused = 0
    with another_process_swaps(tree):
        for number in range(rounds):
            for path in (tree.root / "file", tree.root / "folder" / "file"):
                is_turn = (path.parent == tree.root) == bool(number % 2)
                some_seen, some_refused = use_often(disk, path, 1, write=is_turn)
                seen |= some_seen
                refused += some_refused
    assert SECRET not in seen
    assert INSIDE in seen
    assert refused
    assert tree.outside_is_untouched()


def test_not_one_byte_outside_while_another_process_swaps(tree: Tree) -> None:
    use_both(tree, 1000)


@pytest.mark.every
@pytest.mark.timeout(900)
def test_not_one_byte_outside_in_a_hundred_thousand_uses(tree: Tree) -> None:
    use_both(tree, 34_000)


def test_a_file_that_becomes_something_else_after_it_was_looked_at_is_seen(
    disk: Disk, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moment between the look and the opening, hit every time."""
    replacements: dict[str, Callable[[Path], object]] = {
        "link": lambda path: path.symlink_to(tree.outside / "file"),
        "fifo": os.mkfifo,
        "gone": lambda _: None,
    }
    kinds = {"link": PathOutsideRoots, "fifo": NotAFile, "gone": NoSuchFile}
    really_open = os.open

    def open_late(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        path = tree.root / name
        if name in replacements and path.is_file() and not path.is_symlink():
            path.unlink()
            replacements[name](path)
        return really_open(name, flags, mode, dir_fd=dir_fd)

    for kind in replacements:
        (tree.root / kind).write_text(INSIDE, encoding="utf-8")
    monkeypatch.setattr(os, "open", open_late)
    refusals: dict[str, type[WorkspaceError]] = {}
    for kind in replacements:
        with pytest.raises(WorkspaceError) as refused:
            disk.read_text(tree.root / kind)
        refusals[kind] = refused.type
    monkeypatch.undo()
    assert refusals == kinds


def test_a_place_that_becomes_a_link_whenever_it_is_used_is_given_up(
    disk: Disk, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    def always_a_link(*_: object) -> int:
        raise disk_module._LinkAppeared

    monkeypatch.setattr(disk_module, "_open_file", always_a_link)
    with pytest.raises(PathOutsideRoots):
        disk.read_text(tree.root / "file")


# ── directories for commands ─────────────────────────────────────────────────────────────────────────


def test_a_directory_is_entered_by_its_descriptor(disk: Disk, tree: Tree) -> None:
    with disk.open_directory(tree.root / "folder") as entrance:
        swap_folder(tree)
        (tree.root / "folder").rename(tree.root / "away")
        (tree.root / "folder").symlink_to(tree.outside)
        assert (Path(entrance) / "file").read_text(encoding="utf-8") == INSIDE
    with disk.open_directory(tree.root) as entrance:
        assert (Path(entrance) / "file").read_text(encoding="utf-8") == INSIDE


def test_only_a_directory_inside_can_be_entered(disk: Disk, tree: Tree) -> None:
    (tree.root / "out").symlink_to(tree.outside)
    (tree.root / "to_folder").symlink_to("folder")
    for path, kind in (
        (tree.outside, PathOutsideRoots),
        (tree.root / "out", PathOutsideRoots),
        (tree.root / "file", NotADirectory),
        (tree.root / "missing", NoSuchFile),
    ):
        with pytest.raises(kind), disk.open_directory(path):
            pass
    with disk.open_directory(tree.root / "to_folder") as entrance:
        assert Path(entrance).samefile(tree.root / "folder")


def test_a_directory_that_becomes_a_link_is_looked_at_again(
    disk: Disk, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    really_open = os.open
    swaps = iter([True])

    def open_late(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if name == "folder" and next(swaps, False):
            (tree.root / "folder").rename(tree.root / "away")
            (tree.root / "folder").symlink_to(tree.outside)
        return really_open(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", open_late)
    with pytest.raises(PathOutsideRoots), disk.open_directory(tree.root / "folder"):
        pass


# ── without descriptors of directories ───────────────────────────────────────────────────────────────


def test_by_name_files_are_read_written_and_refused_alike(tree: Tree) -> None:
    disk = Disk([tree.root], by_descriptor=False)
    (tree.root / "out").symlink_to(tree.outside)
    disk.write_text(tree.root / "deep" / "new", "x\n")
    (tree.root / "file").chmod(0o640)
    disk.write_text(tree.root / "file", "y\n")
    assert disk.read_text(tree.root / "deep" / "new") == "x\n"
    assert disk.read_text(tree.root / "file") == "y\n"
    assert stat.S_IMODE((tree.root / "file").stat().st_mode) == 0o640
    assert disk.resolve(tree.root / "deep" / ".." / "file") == tree.root / "file"
    assert disk.roots == (tree.root,)
    for use in (disk.read_text, lambda path: disk.write_text(path, "x")):
        with pytest.raises(PathOutsideRoots):
            use(tree.root / "out" / "file")
        with pytest.raises(NotAFile):
            use(tree.root / "folder")
    with pytest.raises(NoSuchFile):
        disk.read_text(tree.root / "missing")
    with disk.open_directory(tree.root / "folder") as entrance:
        assert entrance == str(tree.root / "folder")
    with pytest.raises(NotADirectory), disk.open_directory(tree.root / "file"):
        pass
    assert tree.outside_is_untouched()
    assert sorted(entry.name for entry in (tree.root / "deep").iterdir()) == ["new"]
