"""Applies each patch to a copy of the sources and runs its test against it; a test that stays green is a failure."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
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
    source: Path, tests: list[str], *, long: bool, timeout_seconds: float = TIMEOUT_SECONDS, shown: bool = False
) -> int:
    """The exit status of pytest with `source` before everything else on the path; `shown` is what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", f"--timeout={limit(100)}", "-p", "no:cacheprovider", *tests]
    try:
        return subprocess.run(
            [*command, *(OF_LONG if long else ())],
            cwd=ROOT, env=environment, stdout=None if shown else subprocess.DEVNULL, stderr=subprocess.STDOUT,
            timeout=timeout_seconds, check=False,
        ).returncode  # fmt: skip
    except subprocess.TimeoutExpired:
        return 1  # it hangs: that is red enough


def not_in_its_run(mutants: Sequence[Mutant], *, long: bool) -> list[Mutant]:
    """Those whose test the default run, or `--long`, does not have: nobody would see them.

    Asked of whole files: a row that is named is always met.
    """
    files = sorted({mutant.test.partition("::")[0] for mutant in mutants if mutant.long is long})
    if not files:
        return []
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *files]
    text = subprocess.run([*command, *(OF_LONG if long else ())], cwd=ROOT, capture_output=True, check=False).stdout
    met = {line.partition(end)[0] for line in text.decode().splitlines() for end in ("[", "\0")}
    return [mutant for mutant in mutants if mutant.long is long and mutant.test not in met]


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
        status = run_tests(break_copy(mutant, Path(folder)), [mutant.test], long=mutant.long)
    red = status == 1
    verdict = "red, as it should be" if red else f"STAYED GREEN (pytest status {status})"
    print(f"{mutant.promise:>12} │ {mutant.name}: {verdict}", flush=True)
    return red


def main() -> int:
    wanted = sys.argv[1:]
    chosen = [each for each in MUTANTS if not wanted or any(word in f"{each.promise} {each.name}" for word in wanted)]
    print(f"{len(chosen)} mutants; first their tests on the sources as they are", flush=True)
    for long in (False, True):
        for mutant in not_in_its_run(chosen, long=long):
            print(f"{mutant.name}: {'`--long`' if long else 'the default run'} does not have {mutant.test}")
            return 1
        tests = sorted({mutant.test for mutant in chosen if mutant.long is long})
        if tests and run_tests(ROOT / "src", tests, long=long, timeout_seconds=ALL_TIMEOUT_SECONDS, shown=True) != 0:
            print("the tests are red without any patch")
            return 1
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        verdicts = list(pool.map(judge, chosen))
    print(f"{sum(verdicts)} of {len(verdicts)} mutants were caught")
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    raise SystemExit(main())
