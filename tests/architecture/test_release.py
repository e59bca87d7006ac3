"""`scripts/release`: what it refuses, and what it leaves in `dist/`. Installations are tried by the script alone."""

import shutil
import subprocess
import zipfile
from email.message import Message
from pathlib import Path

import pytest

from scripts import release

ROOT = Path(__file__).parents[2]
VERSION = release.version_of(ROOT)
TRACKED = {"src/accord/__init__.py", "src/accord/py.typed", "pyproject.toml"}
DIST_INFO = f"accord-{VERSION}.dist-info/"


def metadata(**changed: str) -> Message:
    """Metadata as it should be, with these lines in place of others."""
    made = Message()
    lines = {
        "Name": "accord",
        "Version": VERSION,
        "License-Expression": "Apache-2.0",
        "License-File": "LICENSE",
        "Requires-Python": ">=3.11",
        "Description-Content-Type": "text/markdown",
        "Summary": "x",
        "Requires-Dist": "msgspec<1,>=0.20",
    }
    for name, value in (lines | {name.replace("_", "-"): value for name, value in changed.items()}).items():
        made[name] = value
    for python in release.PYTHONS:
        made["Classifier"] = f"Programming Language :: Python :: {python}"
    made.set_payload("# Accord\n")
    return made


def wheel_of(folder: Path, files: dict[str, bytes] | None = None, *, without: str = "") -> Path:
    """A wheel as it should be, with files more and one less."""
    names: dict[str, bytes] = {
        "accord/__init__.py": b"",
        "accord/py.typed": b"",
        **{DIST_INFO + name: b"" for name in release.DIST_INFO},
        DIST_INFO + "METADATA": metadata().as_bytes(),
        DIST_INFO + "entry_points.txt": b"[console_scripts]\naccord = accord.cli.main:main\n",
        **(files or {}),
    }
    wheel = folder / f"accord-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in names.items():
            if name != without:
                archive.writestr(name, data)
    return wheel


def git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


def listed(root: Path) -> None:
    """An entry for the version in the changes."""
    (root / "docs" / "changes").mkdir(parents=True)
    (root / "CHANGELOG.md").write_text(f"# Changes\n\n- [{VERSION}](docs/changes/{VERSION}.md)\n", encoding="utf-8")
    (root / "docs" / "changes" / f"{VERSION}.md").write_text(f"# {VERSION}\n\n- All of it.\n", encoding="utf-8")


def committed(folder: Path) -> Path:
    """What a build needs of this checkout, as a commit of its own with an entry in the changes."""
    root = folder / "checkout"
    listed(root)
    shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "constraints.txt", ".gitignore"):
        shutil.copy(ROOT / name, root)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "all")
    return root


# --- the checkout


def test_a_clean_checkout_gives_a_wheel_and_an_sdist_without_a_fault_and_a_dirty_one_is_refused(tmp_path: Path) -> None:
    root = committed(tmp_path)
    wheel, sdist = release.prepare(root, dated=False)
    assert sorted(path.name for path in (root / "dist").iterdir()) == sorted([wheel.name, sdist.name])
    assert wheel.stat().st_size < release.MOST_WHEEL_BYTES
    (root / "src" / "accord" / "notes.txt").write_text("to do\n", encoding="utf-8")
    with pytest.raises(release.ReleaseError) as dirty:
        release.prepare(root, dated=False)
    assert len(dirty.value.args) == 1
    git(root, "add", "-A")
    git(root, "commit", "-qm", "notes")
    with pytest.raises(release.ReleaseError) as stranger:
        release.prepare(root, dated=False)
    assert len(stranger.value.args) == 1
    assert "accord/notes.txt" in stranger.value.args[0]
    assert not (root / "dist").exists()


def test_a_version_without_an_entry_in_the_changes_is_refused(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "src/accord/version.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changes = tmp_path / "docs" / "changes"
    changes.mkdir(parents=True)
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n", encoding="utf-8")
    assert len(list(release.faults_of_version(tmp_path, dated=False))) == 1
    (changes / f"{VERSION}.md").write_text(f"# {VERSION}\n", encoding="utf-8")
    assert len(list(release.faults_of_version(tmp_path, dated=False))) == 1
    (tmp_path / "CHANGELOG.md").write_text(f"[it](docs/changes/{VERSION}.md)\n", encoding="utf-8")
    assert list(release.faults_of_version(tmp_path, dated=False)) == []
    assert len(list(release.faults_of_version(tmp_path, dated=True))) == 1
    (changes / f"{VERSION}.md").write_text(f"# {VERSION}, 2 December 2026\n", encoding="utf-8")
    assert list(release.faults_of_version(tmp_path, dated=True)) == []


def test_two_versions_in_one_checkout_are_refused(tmp_path: Path) -> None:
    listed(tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "src" / "accord").mkdir(parents=True)
    (tmp_path / "src" / "accord" / "version.py").write_text('VERSION = "9.9"\n', encoding="utf-8")
    assert len(list(release.faults_of_version(tmp_path, dated=False))) == 1


def test_this_version_has_its_entry_in_the_changes_which_fit_on_a_screen() -> None:
    assert list(release.faults_of_version(ROOT, dated=False)) == []
    assert len((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()) <= 50


# --- the wheel


def test_a_wheel_as_it_should_be_has_no_fault(tmp_path: Path) -> None:
    assert list(release.faults_of_wheel(wheel_of(tmp_path), TRACKED, VERSION)) == []


@pytest.mark.parametrize(
    "name", ["accord/local.py", "tests/__init__.py", "accord/.env", f"{DIST_INFO}notes", "accord.pth"]
)
def test_a_file_that_git_does_not_have_is_refused(tmp_path: Path, name: str) -> None:
    faults = list(release.faults_of_wheel(wheel_of(tmp_path, {name: b""}), TRACKED, VERSION))
    assert faults
    assert all(name in fault for fault in faults)


@pytest.mark.parametrize("name", ["accord/test_x.py", "accord/tests/x.py", "accord/conftest.py", "accord/x.so"])
def test_a_test_or_a_binary_that_was_committed_is_refused(tmp_path: Path, name: str) -> None:
    wheel = wheel_of(tmp_path, {name: b""})
    assert len(list(release.faults_of_wheel(wheel, {*TRACKED, f"src/{name}"}, VERSION))) == 1


@pytest.mark.parametrize("name", ["accord/__init__.py", f"{DIST_INFO}licenses/LICENSE", f"{DIST_INFO}METADATA"])
def test_a_file_that_is_missing_is_refused(tmp_path: Path, name: str) -> None:
    assert len(list(release.faults_of_wheel(wheel_of(tmp_path, without=name), TRACKED, VERSION))) == 1


def test_a_wheel_without_its_marker_for_type_checkers_is_refused(tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path, without="accord/py.typed")
    assert len(list(release.faults_of_wheel(wheel, TRACKED - {"src/accord/py.typed"}, VERSION))) == 1


def test_the_notice_of_another_licence_is_refused(tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path, {"accord/x.py": b"# Copyright (c) 2020 Somebody\n"})
    assert len(list(release.faults_of_wheel(wheel, {*TRACKED, "src/accord/x.py"}, VERSION))) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"Version": "9.9"},
        {"License_Expression": "MIT"},
        {"Requires_Python": ">=3.9"},
        {"Requires_Dist": "requests>=2"},
        {"Summary": ""},
    ],
)
def test_wrong_metadata_is_refused(changed: dict[str, str]) -> None:
    assert list(release.faults_of_metadata(metadata(), VERSION)) == []
    assert len(list(release.faults_of_metadata(metadata(**changed), VERSION))) == 1


def test_this_python_is_among_those_that_the_wheel_is_tried_with() -> None:
    assert set(release.pythons()) <= set(release.PYTHONS)
    assert release.pythons()
