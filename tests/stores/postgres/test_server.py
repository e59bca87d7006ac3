"""The servers that tests start: none outlives a run that was killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits import limit
from tests.transport.processes import exists, until

ROOT = Path(__file__).parents[3]
PROGRAM = """
import sys, time
from tests.postgres import own_server, started

kind = {"shared": lambda: started(sys.argv[2]), "own": own_server}[sys.argv[1]]
with kind() as server:
    data = server.run("show data_directory")[0][0]
    print(open(f"{data}/postmaster.pid").readline().strip(), data, flush=True)
    time.sleep(600)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc: run it on Linux")
@pytest.mark.parametrize("kind", ["shared", "own"])
async def test_a_server_ends_with_a_run_that_is_killed(kind: str, tmp_path: Path) -> None:
    run = subprocess.Popen(  # noqa: ASYNC220 - it is killed below
        [sys.executable, "-c", PROGRAM, kind, f"killed-{tmp_path.parent.name}"], cwd=ROOT, stdout=subprocess.PIPE
    )
    with run:
        assert run.stdout is not None
        pid, _, data = run.stdout.readline().decode().strip().partition(" ")
        assert exists(int(pid))
        run.kill()
        run.wait(limit(10.0))
    assert await until(lambda: not exists(int(pid)))
    assert await until(lambda: not Path(data).exists())
