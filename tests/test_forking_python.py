"""A program that is begun by a fork is a process like any other: its streams, its status, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forking_python import forking_python
from tests.limits import limit
from tests.tables import rows

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no forks: run it on Linux")

HANGS = "import os, time; print(os.getpid(), flush=True); time.sleep(1000)"


def ran(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [forking_python(), *words], capture_output=True, text=True, timeout=limit(60), check=False, **options
    )


@pytest.mark.parametrize(
    ("words", "status", "out", "err"),
    [
        (("-c", "import sys; print(sys.argv[1:], input())", "a b"), 0, "['a b'] é\n", ""),
        (("-c", "raise SystemExit(3)"), 3, "", ""),
        (("-c", "raise SystemExit('no')"), 1, "", "no\n"),
        (("-c", "import atexit; atexit.register(print, 'late'); print('soon')"), 0, "soon\nlate\n", ""),
        (("-c", "import os; os.kill(os.getpid(), 9)"), -9, "", ""),
        (("-I", "-c", "import sys; print(sys.flags.isolated)"), 0, "1\n", ""),
        (("-W", "error", "-c", "import sys; print(sys.warnoptions)"), 0, "['error']\n", ""),
        (("-m", "accord", "--version"), 0, "accord 0.1.0\n", ""),
    ],
)
def test_a_program_ends_as_it_would_in_an_interpreter_of_its_own(
    words: tuple[str, ...], status: int, out: str, err: str
) -> None:
    done = ran(*words, input="é\n")
    assert (done.returncode, done.stdout, done.stderr) == (status, out, err)


def test_an_error_is_shown_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("def fail():\n    raise KeyError('lens')\n")
    (tmp_path / "program.py").write_text("import beside\nbeside.fail()\n")
    done = ran("program.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "beside.py" in done.stderr
    assert "KeyError: 'lens'" in done.stderr


def test_a_program_has_the_environment_and_the_folder_that_it_was_given(tmp_path: Path) -> None:
    code = "import os, sys; print(os.getcwd(), os.environ['LENS'], 'HOME' in os.environ, '' in sys.path)"
    done = ran("-c", code, cwd=tmp_path, env={"LENS": "50", "PATH": os.environ["PATH"]})
    assert done.stdout.split() == [str(tmp_path), "50", "False", "True"]


def test_a_program_has_accord_from_the_sources_that_stand_first_on_the_path_of_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "accord.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    # A server of its own: that of the others has begun.
    python = forking_python(imports="accord json")
    done = subprocess.run(
        [python, "-c", "import accord; print(accord.__file__)"],
        capture_output=True, text=True, timeout=limit(60), check=True,
    )  # fmt: skip
    assert done.stdout.split() == [str(tmp_path / "accord.py")]


@rows("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_for_a_program_ends_it(number: signal.Signals) -> None:
    with subprocess.Popen([forking_python(), "-c", HANGS], stdout=subprocess.PIPE) as caller:
        assert caller.stdout is not None
        pid = int(caller.stdout.readline())
        assert pid != caller.pid
        caller.send_signal(number)
        # Its end of the pipe is closed only when it is gone itself.
        assert caller.stdout.read() == b""
        assert caller.wait(limit(30)) == -number
