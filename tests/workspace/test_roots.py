"""Paths that stay inside, paths that do not, and paths that change while they are walked."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from accord.workspace import roots as roots_module
from accord.workspace.errors import InvalidPath, NotADirectory, PathOutsideRoots, WorkspaceError
from accord.workspace.roots import Roots, parse_path
from tests.workspace.trees import INSIDE, Tree, descriptors


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def read(roots: Roots, path: str | Path) -> str:
    """What is at the path by way of the descriptor alone."""
    with roots.locate(str(path)) as place:
        descriptor = os.open(place.name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=place.directory)
        with os.fdopen(descriptor, encoding="utf-8") as file:
            return file.read()


@pytest.mark.parametrize(
    "path",
    [
        "file",
        "folder/file",
        "folder//file",
        "./folder/./file",
        "folder/../file",
        "folder/../folder/file",
        "to_file",
        "to_folder/file",
        "to_folder/../file",
        "folder/up",
        "absolute",
        "chain",
        "../root/file",
    ],
)
def test_what_stays_inside_is_found(tree: Tree, path: str) -> None:
    (tree.root / "to_file").symlink_to("file")
    (tree.root / "to_folder").symlink_to("folder/")
    (tree.root / "folder" / "up").symlink_to("../file")
    (tree.root / "absolute").symlink_to(tree.root / "folder" / "file")
    (tree.root / "chain").symlink_to("to_folder/up")
    assert read(Roots([tree.root]), f"{tree.root}/{path}") == INSIDE


@pytest.mark.parametrize(
    "path",
    [
        "{outside}/file",
        "{outside}/missing",
        "{root}/../outside/file",
        "{root}/folder/../../outside/file",
        "{root}/../../../../../../../../../../etc/passwd",
        "{root}/out/file",
        "{root}/out_file",
        "{root}/out_relative",
        "{root}/out_chain",
        "{root}/out_and_in",
        "{root}/missing_out/file",
        "{root}side/file",
        "{upper}/file",
        "{root}/..",
        "/",
        "/etc/passwd",
        "/proc/self/environ",
        "/proc/self/cwd/file",
        "/dev/fd/0",
    ],
)
def test_what_leads_out_is_refused_whether_it_exists_or_not(tree: Tree, path: str) -> None:
    (tree.root / "out").symlink_to(tree.outside)
    (tree.root / "out_file").symlink_to(tree.outside / "file")
    (tree.root / "out_relative").symlink_to("../outside/file")
    (tree.root / "out_chain").symlink_to("out/file")
    (tree.root / "out_and_in").symlink_to(f"{tree.outside}/../root/file")
    (tree.root / "missing_out").symlink_to(tree.outside / "missing")
    (tree.root.parent / "rootside").mkdir()
    upper = tree.root.parent / "ROOT"
    text = path.format(root=tree.root, outside=tree.outside, upper=upper)
    with pytest.raises(PathOutsideRoots) as refused:
        read(Roots([tree.root]), text)
    assert refused.value.path == text
    assert refused.value.code == -32602


@pytest.mark.parametrize(
    "path", ["file", "", ".", "./file", "../root/file", "~/file", "a\0b", "/a\0b", "/" + "x" * 5000]
)
def test_what_no_file_can_have_is_refused(tree: Tree, path: str) -> None:
    with pytest.raises(InvalidPath):
        read(Roots([tree.root]), path)


def test_half_a_character_in_a_path_is_refused_and_undecodable_bytes_are_not(tree: Tree) -> None:
    with pytest.raises(InvalidPath):
        parse_path("/a\ud83d")
    name = os.fsencode(tree.root) + b"/\xff\xfe"
    Path(os.fsdecode(name)).write_text("odd", encoding="utf-8")
    assert read(Roots([tree.root]), os.fsdecode(name)) == "odd"


def test_a_path_object_is_as_good_as_a_text() -> None:
    assert parse_path(Path("/a/b")) == "/a/b"


def test_links_in_a_circle_are_refused(tree: Tree) -> None:
    (tree.root / "a").symlink_to("b")
    (tree.root / "b").symlink_to("a")
    (tree.root / "self").symlink_to("self/self")
    for path in ("a", "self", "self/file"):
        with pytest.raises(InvalidPath):
            read(Roots([tree.root]), f"{tree.root}/{path}")


def test_forty_links_are_followed_and_no_more(tree: Tree) -> None:
    (tree.root / "link0").symlink_to("file")
    for number in range(1, 41):
        (tree.root / f"link{number}").symlink_to(f"link{number - 1}")
    roots = Roots([tree.root])
    assert read(roots, tree.root / "link39") == INSIDE
    with pytest.raises(InvalidPath):
        read(roots, tree.root / "link40")


def test_a_path_made_to_keep_us_walking_is_refused(tree: Tree) -> None:
    folder = tree.root
    for _ in range(200):
        folder = folder / "d"
        folder.mkdir()
    path = str(folder) + "/.." * 199 + "/d" * 199
    assert len(path) < 4096
    with pytest.raises(InvalidPath):
        read(Roots([tree.root]), f"{path}/file")


def test_a_file_on_the_way_is_no_directory(tree: Tree) -> None:
    with pytest.raises(NotADirectoryError):
        read(Roots([tree.root]), tree.root / "file" / "below")


def test_a_deep_path_needs_few_descriptors(tree: Tree) -> None:
    folder = tree.root
    for _ in range(400):
        folder = folder / "d"
        folder.mkdir()
    (folder / "file").write_text("deep", encoding="utf-8")
    roots = Roots([tree.root])
    before = descriptors()
    with roots.locate(str(folder / "file")) as place:
        assert place.directory is not None
        assert len(descriptors()) == len(before) + 1
    assert read(roots, folder / "file") == "deep"
    assert descriptors() == before


def test_a_place_names_the_path_below_the_root_as_it_was_given(tree: Tree, tmp_path: Path) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(tree.root)
    (tree.root / "to_folder").symlink_to("folder")
    roots = Roots([alias])
    assert roots.paths == (alias,)
    for path in (alias / "to_folder/../folder/file", tree.root / "to_folder" / "file"):
        with roots.locate(str(path)) as place:
            assert place.path == alias / "folder" / "file"
        assert read(roots, path) == INSIDE


def test_a_root_with_dots_is_known_by_its_real_name(tree: Tree) -> None:
    roots = Roots([f"{tree.root}/folder/.."])
    assert read(roots, tree.root / "file") == INSIDE


def test_a_link_may_lead_from_one_root_to_another(tree: Tree, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").write_text("other", encoding="utf-8")
    (tree.root / "across").symlink_to("../other/file")
    (tree.root / "absolute").symlink_to(other / "file")
    roots = Roots([tree.root, other])
    for path in ("across", "absolute", "../other/file"):
        assert read(roots, f"{tree.root}/{path}") == "other"
    with pytest.raises(PathOutsideRoots):
        read(Roots([tree.root]), tree.root / "across")


def test_roots_may_nest(tree: Tree) -> None:
    roots = Roots([tree.root, tree.root / "folder"])
    assert read(roots, tree.root / "folder" / "file") == INSIDE
    assert read(roots, tree.root / "folder" / ".." / "file") == INSIDE


def test_a_nested_root_that_was_swapped_for_a_link_is_not_entered(tree: Tree) -> None:
    roots = Roots([tree.root / "folder"])
    (tree.root / "folder").rename(tree.root / "moved")
    (tree.root / "folder").symlink_to(tree.outside)
    with pytest.raises(PathOutsideRoots):
        read(roots, tree.root / "folder" / "file")


def test_a_link_above_a_nested_root_is_not_followed_either(tree: Tree) -> None:
    for folder in (tree.root / "folder", tree.outside):
        (folder / "inner").mkdir()
        (folder / "inner" / "file").write_text(folder.name, encoding="utf-8")
    roots = Roots([tree.root / "folder" / "inner"])
    assert read(roots, tree.root / "folder" / "inner" / "file") == "folder"
    (tree.root / "folder").rename(tree.root / "moved")
    (tree.root / "folder").symlink_to(tree.outside)
    with pytest.raises(PathOutsideRoots):
        read(roots, tree.root / "folder" / "inner" / "file")


def test_where_directories_cannot_be_passed_unlisted_a_root_is_opened_by_its_name(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roots_module, "_CAN_PASS_UNLISTED", False)
    monkeypatch.setattr(roots_module, "DIRECTORY_FLAGS", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    (tree.root / "out").symlink_to(tree.outside)
    (tree.root / "to_folder").symlink_to("folder")
    roots = Roots([tree.root])
    assert read(roots, tree.root / "to_folder" / "file") == INSIDE
    with pytest.raises(PathOutsideRoots):
        read(roots, tree.root / "out" / "file")
    tree.root.rename(tree.root.parent / "moved")
    tree.root.symlink_to(tree.outside)
    with pytest.raises(PathOutsideRoots):
        read(roots, tree.root / "file")


def test_a_root_may_be_made_anew(tree: Tree) -> None:
    roots = Roots([tree.root / "folder"])
    (tree.root / "folder").rename(tree.root / "moved")
    with pytest.raises(FileNotFoundError):
        read(roots, tree.root / "folder" / "file")
    (tree.root / "folder").mkdir()
    (tree.root / "folder" / "file").write_text("new", encoding="utf-8")
    assert read(roots, tree.root / "folder" / "file") == "new"


def test_everything_may_be_the_root(tree: Tree) -> None:
    assert read(Roots(["/"]), f"{tree.root}/../../../../../../../../..{tree.root}/file") == INSIDE


@pytest.mark.parametrize("root", ["file", "missing", "file/below"])
def test_a_root_must_be_a_directory(tree: Tree, root: str) -> None:
    with pytest.raises(NotADirectory):
        Roots([tree.root / root])


def test_a_root_must_be_absolute() -> None:
    with pytest.raises(InvalidPath):
        Roots(["."])


def test_a_root_that_is_a_circle_of_links_is_refused(tree: Tree) -> None:
    (tree.root / "a").symlink_to("a")
    with pytest.raises(WorkspaceError):
        Roots([tree.root / "a"])


def test_without_roots_nothing_is_inside(tree: Tree) -> None:
    with pytest.raises(PathOutsideRoots):
        read(Roots([]), tree.root / "file")


def test_parents_are_created_where_links_lead_but_never_for_dots(tree: Tree) -> None:
    (tree.root / "dangling").symlink_to("made/here")
    roots = Roots([tree.root])
    with roots.locate(f"{tree.root}/new/deep/file", create_parents=True):
        pass
    with roots.locate(f"{tree.root}/dangling/file", create_parents=True):
        pass
    assert (tree.root / "new" / "deep").is_dir()
    assert (tree.root / "made" / "here").is_dir()
    for path in ("gone/../file", "gone/file"):
        with (
            pytest.raises(FileNotFoundError),
            roots.locate(f"{tree.root}/{path}", create_parents=path == "gone/../file"),
        ):
            pass
    assert not (tree.root / "gone").exists()


def test_parents_are_not_created_outside(tree: Tree) -> None:
    (tree.root / "out").symlink_to(tree.outside)
    (tree.root / "out_new").symlink_to(tree.outside / "new")
    for path in ("out/new/file", "out_new/file", "../outside/new/file"):
        with (
            pytest.raises(PathOutsideRoots),
            Roots([tree.root]).locate(f"{tree.root}/{path}", create_parents=True),
        ):
            pass
    assert tree.outside_is_untouched()


NAMES = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=5).map("/".join)


@settings(max_examples=50)
@given(
    folders=st.lists(st.lists(NAMES, min_size=1, max_size=3).map("/".join), max_size=5),
    links=st.lists(st.tuples(st.lists(NAMES, min_size=1, max_size=3).map("/".join), STEPS, st.booleans()), max_size=6),
    paths=st.lists(STEPS, min_size=1, max_size=8),
)
def test_random_trees_are_walked_as_the_system_walks_them(
    folders: list[str], links: list[tuple[str, str, bool]], paths: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve() / "root"
        root.mkdir()
        for number, folder in enumerate(folders):
            (root / folder).mkdir(parents=True, exist_ok=True)
            (root / folder / "f").write_text(str(number), encoding="utf-8")
        for link, target, is_absolute in links:
            place = root / link
            if place.parent.is_dir() and not place.is_symlink() and not place.exists():
                place.symlink_to(f"{root}/{target}" if is_absolute else target)
        roots = Roots([root])
        for path in paths:
            _compare(roots, root, f"{root}/{path}/f")


def _compare(roots: Roots, root: Path, path: str) -> None:
    try:
        found: str | None = read(roots, path)
    except (WorkspaceError, OSError):
        found = None
    # What the system finds there, if all of its way is inside.
    try:
        real = Path(path).resolve(strict=True)
        expected = real.read_text(encoding="utf-8")
    except (OSError, RuntimeError):
        assert found is None
        return
    assert real.is_relative_to(root) or found is None
    assert found in {expected, None}
    if found is None:
        # Refused though it ends inside: only if the way led out of the root in between.
        assert _leaves(root, path)


def _leaves(root: Path, path: str) -> bool:
    """Whether some beginning of the way, link by link, lies above the root."""
    place = Path("/")
    pending = path.split("/")[1:]
    entered = False
    while pending:
        name = pending.pop(0)
        place = place.parent if name == ".." else place / name
        if place.is_symlink():
            target = str(place.readlink())
            pending = target.split("/") + pending
            place = Path("/") if target.startswith("/") else place.parent
            entered = entered and not target.startswith("/")
        if place == root:
            entered = True
        elif entered and not place.is_relative_to(root):
            return True
    return False


def test_by_name_the_same_paths_are_refused_unless_somebody_swaps_them(tree: Tree) -> None:
    roots = Roots([tree.root], by_descriptor=False)
    (tree.root / "out").symlink_to(tree.outside)
    (tree.root / "to_folder").symlink_to("folder")
    with roots.locate(f"{tree.root}/to_folder/../file") as place:
        assert place.directory is None
        assert Path(place.name).read_text(encoding="utf-8") == INSIDE
        assert place.path == tree.root / "file"
        assert place.sibling("x") == str(tree.root / "x")
    for path in ("out/file", "../outside/file", "folder/../../outside/file"):
        with pytest.raises(PathOutsideRoots), roots.locate(f"{tree.root}/{path}"):
            pass
    with roots.locate(f"{tree.root}/new/deep/file", create_parents=True):
        assert (tree.root / "new" / "deep").is_dir()
