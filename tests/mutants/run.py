"""Applies each patch to a copy of the sources and runs its test against it; a test that stays green is a failure."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.limits import limit
from tests.mutants.patches import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
OF_LONG = ("-m", "long and not every")
TIMEOUT_SECONDS = limit(240)
# For the tests of all mutants, one after the other.
ALL_TIMEOUT_SECONDS = limit(1_200)


def run_tests(
    source: Path, tests: Sequence[str], *, timeout_seconds: float = TIMEOUT_SECONDS, shown: bool = False
) -> int:
    """The exit status of pytest with `source` before everything else on the path; `shown` is what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", f"--timeout={limit(100)}", "-p", "no:cacheprovider"]
    try:
        return subprocess.run(
            # Exactly these: a row of a sampled table that is named alone is no longer one of `--long`.
            [*command, "-m", "", *tests],
            cwd=ROOT, env=environment, stdout=None if shown else subprocess.DEVNULL, stderr=subprocess.STDOUT,
            timeout=timeout_seconds, check=False,
        ).returncode  # fmt: skip
    except subprocess.TimeoutExpired:
        return 1  # it hangs: that is red enough


def rows_in_run(tests: Iterable[str], *, long: bool) -> dict[str, list[str]]:
    """The rows of each test that the default run has, or `--long`; a test that is one row has itself.

    Asked of whole files: a row that is named is always met.
    """
    tests = set(tests)
    if not tests:
        return {}
    files = sorted({test.partition("::")[0] for test in tests})
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *files]
    text = subprocess.run([*command, *(OF_LONG if long else ())], cwd=ROOT, capture_output=True, check=False).stdout
    lines = text.decode().splitlines()
    return {test: [line for line in lines if line == test or line.startswith(f"{test}[")] for test in tests}


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


def judge(mutant: Mutant, tests: Sequence[str]) -> bool:
    """Whether a test turned red."""
    with tempfile.TemporaryDirectory() as folder:
        status = run_tests(break_copy(mutant, Path(folder)), tests)
    verdict = {0: "STAYED GREEN", 1: "red, as it should be"}.get(status, f"WAS NOT RUN (pytest status {status})")
    print(f"{mutant.promise:>12} │ {mutant.name}: {verdict}", flush=True)
    return status == 1


def main() -> int:
    wanted = sys.argv[1:]
    chosen = [each for each in MUTANTS if not wanted or any(word in f"{each.promise} {each.name}" for word in wanted)]
    print(f"{len(chosen)} mutants; first their tests on the sources as they are", flush=True)
    rows = {long: rows_in_run((each.test for each in chosen if each.long is long), long=long) for long in (False, True)}
    not_there = [each for each in chosen if not rows[each.long][each.test]]
    for mutant in not_there:
        print(f"{mutant.name}: {'`--long`' if mutant.long else 'the default run'} does not have {mutant.test}")
    if not_there:
        return 1
    for long in (False, True):
        tests = sorted({row for of_test in rows[long].values() for row in of_test})
        if tests and run_tests(ROOT / "src", tests, timeout_seconds=ALL_TIMEOUT_SECONDS, shown=True) != 0:
            print("the tests are red without any patch")
            return 1
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        verdicts = list(pool.map(lambda mutant: judge(mutant, rows[mutant.long][mutant.test]), chosen))
    print(f"{sum(verdicts)} of {len(verdicts)} mutants were caught")
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    raise SystemExit(main())
