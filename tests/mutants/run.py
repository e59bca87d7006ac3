"""Applies each patch to a copy of the sources and runs its test against it; a test that stays green is a failure."""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.limits import limit
from tests.mutants.patches import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
EVERY_MARK = ["-m", ""]
TIMEOUT_SECONDS = limit(240)
# For the tests of all mutants, one after the other.
ALL_TIMEOUT_SECONDS = limit(1_200)


def run_tests(source: Path, tests: list[str], timeout_seconds: float = TIMEOUT_SECONDS) -> int:
    """The exit status of pytest with `source` before everything else on the path."""
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", f"--timeout={limit(100)}", "-p", "no:cacheprovider", *tests]
    if all("[" in test for test in tests):
        command += EVERY_MARK  # a row that is named is run, also where only the long tests have it
    try:
        status = _status(command, environment, timeout_seconds)
        if status == pytest.ExitCode.NO_TESTS_COLLECTED:
            status = _status(command + EVERY_MARK, environment, timeout_seconds)
    except subprocess.TimeoutExpired:
        return 1  # it hangs: that is red enough
    return status


def _status(command: list[str], environment: dict[str, str], timeout_seconds: float) -> int:
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, timeout=timeout_seconds, check=False
    ).returncode


def break_copy(mutant: Mutant, folder: Path) -> Path:
    """A copy of the sources with the patch applied."""
    source = folder / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    path = source / "accord" / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.before) != 1:
        raise SystemExit(f"{mutant.name}: the text to patch stands {text.count(mutant.before)} times in {mutant.file}")
    path.write_text(text.replace(mutant.before, mutant.after), encoding="utf-8")
    return source


def judge(mutant: Mutant) -> bool:
    """Whether the test turned red."""
    with tempfile.TemporaryDirectory() as folder:
        status = run_tests(break_copy(mutant, Path(folder)), [mutant.test])
    red = status == 1
    verdict = "red, as it should be" if red else f"STAYED GREEN (pytest status {status})"
    print(f"{mutant.promise:>12} │ {mutant.name}: {verdict}", flush=True)
    return red


def main() -> int:
    wanted = sys.argv[1:]
    chosen = [each for each in MUTANTS if not wanted or any(word in f"{each.promise} {each.name}" for word in wanted)]
    print(f"{len(chosen)} mutants; first their tests on the sources as they are", flush=True)
    if run_tests(ROOT / "src", sorted({mutant.test for mutant in chosen}), ALL_TIMEOUT_SECONDS) != 0:
        print("the tests are red without any patch")
        return 1
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        verdicts = list(pool.map(judge, chosen))
    print(f"{sum(verdicts)} of {len(verdicts)} mutants were caught")
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    raise SystemExit(main())
