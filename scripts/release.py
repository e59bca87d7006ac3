"""Builds wheel and sdist, and checks them as those who install them find them; `scripts/release` runs it.

    python scripts/release.py [--dry-run]

Before the build: a clean tree, one version in all places, an entry for it in the changes. After it: the contents of
both files against what Git has, their size, the metadata, the licence. Then the wheel is installed into a fresh
environment of each Python that is here, and by pipx and uvx where they are, and holds a conversation in each. What is
wrong is one sentence per fault, and nothing is left in `dist/` then.
"""

from __future__ import annotations

import argparse
import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MOST_WHEEL_BYTES = 2_000_000
MOST_SDIST_BYTES = 5_000_000
# What the wheel has of src/accord: modules, the marker for type checkers, the catalogue of agents.
SUFFIXES = {".py", ".typed", ".json"}
DIST_INFO = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
# What the sdist has beside the repository's files.
ONLY_IN_SDIST = {"PKG-INFO"}
LICENCE = "Apache-2.0"
CORE = {"msgspec"}
# The conversation that every installation holds: no key, no network.
PROMPT = ["run", "demo", 'write "hello" to note.txt', "--allow", "edit"]
# Every name but the module that needs an extra.
IMPORTED = "import accord as a; [getattr(a, name) for name in a.__all__ if name != 'serve']; print(a.__file__)"
SECONDS = 300

_TEST = re.compile(r"(^|/)(tests?/|test_[^/]*$|conftest\.py$|[^/]*_test\.py$)")
_NOTICE = re.compile(rb"copyright|SPDX-License|licen[cs]ed under|all rights reserved", re.IGNORECASE)


class ReleaseError(Exception):
    """This is not ready for a release; each argument is a sentence."""


# --- before the build


def faults_of_tree(root: Path) -> Iterator[str]:
    """Files that differ from the commit or that Git does not know."""
    changed = [line[3:] for line in _git(root, "status", "--porcelain").splitlines()]
    if changed:
        yield f"the tree is dirty: commit or remove {', '.join(changed[:5])}" + (" and more" if changed[5:] else "")


def version_of(root: Path) -> str:
    """The version in pyproject.toml."""
    return str(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def faults_of_version(root: Path, *, dated: bool) -> Iterator[str]:
    """The version in all its places; a release needs its date in the changes, a dry run does not."""
    version = version_of(root)
    module = (root / "src" / "accord" / "version.py").read_text(encoding="utf-8")
    if f'VERSION = "{version}"' not in module:
        yield f"src/accord/version.py has another version than pyproject.toml, which has {version}"
    page = root / "docs" / "changes" / f"{version}.md"
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    heading = re.search(rf"^# {re.escape(version)}(?:, (\d+ \w+ \d{{4}}))?$", text, re.MULTILINE)
    listed = f"(docs/changes/{version}.md)" in (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if heading is None or not listed:
        yield (
            f"version {version} has no entry in the changes: write docs/changes/{version}.md, with the heading"
            f" `# {version}`, and a line in CHANGELOG.md that leads to it"
        )
    elif dated and heading.group(1) is None:
        yield f"docs/changes/{version}.md has no date: its heading is `# {version}, 1 January 2027` on that day"


# --- what was built


def build(root: Path, folder: Path) -> tuple[Path, Path]:
    """Wheel and sdist of a checkout."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise ReleaseError(f"hatchling could not build: {(done.stdout + done.stderr).strip()}")
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def faults_of_wheel(wheel: Path, tracked: set[str], version: str) -> Iterator[str]:
    """A file too many or too few, a test, a foreign notice, a missing marker, wrong metadata."""
    if wheel.stat().st_size > MOST_WHEEL_BYTES:
        yield f"{wheel.name} has {wheel.stat().st_size:,} bytes, and {MOST_WHEEL_BYTES:,} are the most"
    ours = {name.removeprefix("src/") for name in tracked if name.startswith("src/accord/")}
    dist_info = f"accord-{version}.dist-info/"
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        yield from _strangers(wheel.name, names, ours | {dist_info + name for name in DIST_INFO})
        yield from (f"{wheel.name} has the test {name}" for name in sorted(names) if _TEST.search(name))
        for name in sorted(names & ours):
            if Path(name).suffix not in SUFFIXES:
                yield f"{wheel.name} has {name}, which does not belong there: it has {', '.join(sorted(SUFFIXES))}"
            elif _NOTICE.search(archive.read(name)):
                yield f"{wheel.name} has {name} with a notice of a licence; all that ships is ours, under {LICENCE}"
        if "accord/py.typed" not in names:
            yield f"{wheel.name} has no accord/py.typed: type checkers would ignore the annotations"
        if dist_info + "METADATA" in names and dist_info + "entry_points.txt" in names:
            metadata = email.message_from_bytes(archive.read(dist_info + "METADATA"))
            yield from faults_of_metadata(metadata, version)
            if b"accord = accord.cli.main:main" not in archive.read(dist_info + "entry_points.txt"):
                yield "the wheel installs no command `accord`"


def _strangers(archive: str, names: set[str], belonging: set[str]) -> Iterator[str]:
    yield from (f"{archive} has {name}, which does not belong there" for name in sorted(names - belonging))
    yield from (f"{archive} has no {name}" for name in sorted(belonging - names))


def faults_of_metadata(metadata: Message, version: str) -> Iterator[str]:
    """What an index shows, and what an installer reads."""
    wanted = {
        "Name": "accord",
        "Version": version,
        "License-Expression": LICENCE,
        "License-File": "LICENSE",
        "Requires-Python": f">={PYTHONS[0]}",
        "Description-Content-Type": "text/markdown",
    }
    yield from (
        f"the metadata has {name} {metadata[name]!r} and not {value!r}"
        for name, value in wanted.items()
        if metadata[name] != value
    )
    if not metadata["Summary"] or "# Accord" not in str(metadata.get_payload()):
        yield "the metadata has no summary, or not the README"
    needed = [each for each in metadata.get_all("Requires-Dist", []) if "extra ==" not in each]
    if {re.split(r"[^\w-]", each)[0] for each in needed} != CORE:
        yield f"the package needs {', '.join(needed)}; without an extra it needs {', '.join(sorted(CORE))} alone"
    classifiers = set(metadata.get_all("Classifier", []))
    for python in PYTHONS:
        if f"Programming Language :: Python :: {python}" not in classifiers:
            yield f"the metadata does not name Python {python}"


def faults_of_sdist(sdist: Path, tracked: set[str], version: str) -> Iterator[str]:
    """Files that Git does not know, and what a build from it needs."""
    if sdist.stat().st_size > MOST_SDIST_BYTES:
        yield f"{sdist.name} has {sdist.stat().st_size:,} bytes, and {MOST_SDIST_BYTES:,} are the most"
    with tarfile.open(sdist) as archive:
        names = {each.name.removeprefix(f"accord-{version}/") for each in archive.getmembers() if each.isfile()}
    yield from (
        f"{sdist.name} has {name}, which does not belong there" for name in sorted(names - tracked - ONLY_IN_SDIST)
    )
    needed = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", *ONLY_IN_SDIST}
    needed |= {name for name in tracked if name.startswith(("src/", "tests/"))}
    yield from (f"{sdist.name} has no {name}" for name in sorted(needed - names))


def faults_of_rebuilt(wheel: Path, sdist: Path, folder: Path) -> Iterator[str]:
    """Build a wheel from the sdist, as an installer without wheels does, and compare."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    rebuilt, _ = build(next(folder.glob("accord-*/")), folder / "dist")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(rebuilt) as second:
        crcs = [{each.filename: each.CRC for each in archive.infolist()} for archive in (first, second)]
    if crcs[0] != crcs[1]:
        different = sorted(name for name in crcs[0].keys() | crcs[1] if crcs[0].get(name) != crcs[1].get(name))
        yield f"the wheel that {sdist.name} gives is another one: {', '.join(different[:5])}"


# --- installed


def pythons() -> dict[str, str]:
    """An interpreter for each version that is here: of `ACCORD_PYTHONS`, the PATH, pyenv."""
    named = [Path(name) for name in os.environ.get("ACCORD_PYTHONS", "").split(os.pathsep) if name]
    on_path = [Path(name) for python in PYTHONS if (name := shutil.which(f"python{python}"))]
    of_pyenv = sorted((Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions").glob("3.*/bin/python"))
    found: dict[str, str] = {}
    for path in [*named, *on_path, *of_pyenv, Path(sys.executable)]:
        asked = "import sys; print(*sys.version_info[:3], sep='.')"
        done = subprocess.run([str(path), "-c", asked], capture_output=True, text=True, check=False)
        version = done.stdout.strip()
        if done.returncode == 0 and version.rpartition(".")[0] in PYTHONS:
            found.setdefault(version.rpartition(".")[0], str(path))
    return dict(sorted(found.items()))


def faults_of_installed(wheel: Path, python: str, folder: Path) -> Iterator[str]:
    """Install the wheel into a fresh environment of a Python and use it: import, command, module."""
    uv = shutil.which("uv")
    made = [uv, "venv", "-q", "--python", python] if uv else [python, "-m", "venv"]
    environment = folder / "venv"
    subprocess.run([*made, str(environment)], check=True)
    install = '. scripts/env && install_into "$1" "$2"'
    subprocess.run(["sh", "-c", install, "sh", str(environment), str(wheel)], cwd=ROOT, check=True)  # noqa: S607
    inside = str(environment / "bin" / "python")
    command = str(environment / "bin" / "accord")
    yield from _used(folder, f"{python}: import accord", [inside, "-P", "-c", IMPORTED], str(environment))
    yield from _conversation(folder, f"{python}: accord", [command])
    yield from _conversation(folder, f"{python}: python -P -m accord", [inside, "-P", "-m", "accord"])


def faults_of_tool(wheel: Path, tool: str, folder: Path) -> Iterator[str]:
    """What `pipx run` and `uvx` make of a wheel that lies in a folder."""
    how = {"pipx": ["pipx", "run", "--no-cache", "--spec", str(wheel)], "uvx": ["uvx", "--from", str(wheel)]}
    yield from _conversation(folder, tool, [*how[tool], "accord"])


def _conversation(folder: Path, name: str, command: Sequence[str]) -> Iterator[str]:
    yield from _used(folder, f"{name} --version", [*command, "--version"], version_of(ROOT))
    note = folder / "project" / "note.txt"
    note.unlink(missing_ok=True)
    yield from _used(folder, f"{name} run demo", [*command, *PROMPT], "")
    if not note.is_file() or note.read_text(encoding="utf-8").strip() != "hello":
        yield f"{name} run demo wrote no note.txt"


def _used(folder: Path, name: str, command: Sequence[str], said: str) -> Iterator[str]:
    """Run a command in an empty folder with an empty home; a sentence if it fails or does not say something."""
    home, project = folder / "home", folder / "project"
    home.mkdir(exist_ok=True)
    project.mkdir(exist_ok=True)
    kept = {key: value for key, value in os.environ.items() if key.startswith(("PATH", "UV_", "PIP_", "SSL_", "LANG"))}
    done = subprocess.run(
        list(command),
        cwd=project,
        env={**kept, "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode != 0 or said not in done.stdout:
        yield f"{name}: exit code {done.returncode}, {(done.stderr or done.stdout).strip()[-500:]}"


# --- all of it


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)  # noqa: S607
    return done.stdout


def refuse(faults: Iterator[str]) -> None:
    """End if there is a fault."""
    found = list(faults)
    if found:
        raise ReleaseError(*found)


def prepare(root: Path, *, dated: bool) -> tuple[Path, Path]:
    """Check the checkout, build, check what was built; wheel and sdist are in `dist/` then."""
    refuse(faults_of_tree(root))
    refuse(faults_of_version(root, dated=dated))
    tracked = set(_git(root, "ls-files").splitlines())
    version = version_of(root)
    dist = root / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        wheel, sdist = build(root, Path(place))
        refuse(faults_of_wheel(wheel, tracked, version))
        refuse(faults_of_sdist(sdist, tracked, version))
        dist.mkdir()
        return Path(shutil.copy(wheel, dist)), Path(shutil.copy(sdist, dist))


def try_out(wheel: Path, sdist: Path) -> None:
    """Build from the sdist, and install the wheel wherever this machine can."""
    with tempfile.TemporaryDirectory() as place:
        refuse(faults_of_rebuilt(wheel, sdist, Path(place)))
    print(f"{sdist.name}: gives the same wheel")
    here = pythons()
    for version, python in here.items():
        with tempfile.TemporaryDirectory() as place:
            refuse(faults_of_installed(wheel, python, Path(place)))
        print(f"Python {version}: installed, imported, `accord run demo` with and without `python -P -m`")
    for tool in ("pipx", "uvx"):
        if shutil.which(tool) is None:
            print(f"{tool} is not here: not tried (pip install {'uv' if tool == 'uvx' else tool})")
            continue
        with tempfile.TemporaryDirectory() as place:
            refuse(faults_of_tool(wheel, tool, Path(place)))
        print(f"{tool}: the command from the wheel, and `run demo`")
    for missing in sorted(set(PYTHONS) - set(here)):
        print(f"Python {missing} is not here: not tried (ACCORD_PYTHONS=/path/to/python{missing})")


def main() -> None:
    """Build, check, try; upload unless it is a dry run."""
    parser = argparse.ArgumentParser(prog="scripts/release", description="Builds, checks and uploads wheel and sdist.")
    parser.add_argument("--dry-run", action="store_true", help="all of it but the upload")
    options = parser.parse_args()
    try:
        wheel, sdist = prepare(ROOT, dated=not options.dry_run)
        for path in (wheel, sdist):
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")
        try:
            try_out(wheel, sdist)
        except ReleaseError:
            shutil.rmtree(wheel.parent)
            raise
    except ReleaseError as error:
        raise SystemExit("\n".join(f"scripts/release: {sentence}" for sentence in error.args)) from error
    if options.dry_run:
        print("A dry run: nothing was uploaded.")
    else:
        subprocess.run(["uv", "publish", str(wheel), str(sdist)], check=True)  # noqa: S607


if __name__ == "__main__":
    main()
