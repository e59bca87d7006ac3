"""The setup of every test: a bounded loop if it is async, the peers or a reason to skip, hypothesis settings."""

from __future__ import annotations

import gc
import inspect
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.brake import pytest_runtest_makereport, pytest_runtest_protocol
from tests.limits import limit
from tests.needs import leave_one_of_those_in_want
from tests.rows import choose_rows, shuffled
from tests.tables import ASYNC_TEST_SECONDS, call
from tests.untested import (
    pytest_deselected,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
)

# What pytest calls of these modules.
__all__ = [
    "pytest_deselected",
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "pytest_testnodedown",
]

if TYPE_CHECKING:
    # The environments of scripts/adapters have no PostgreSQL.
    from tests.postgres import Database, PostgresServer

# Whoever starts the tests in the background may ignore these, and everything that is started here would inherit that.
for _name, _usual in (("SIGHUP", signal.SIG_DFL), ("SIGTERM", signal.SIG_DFL), ("SIGINT", signal.default_int_handler)):
    if hasattr(signal, _name) and signal.getsignal(getattr(signal, _name)) is signal.SIG_IGN:
        signal.signal(getattr(signal, _name), _usual)

ROOT = Path(__file__).parent.parent

# Each HTTP client and each start of Node reads the machine's certificates, which takes longer than most tests, and none
# of them needs one. A folder is read when a certificate is looked for.
for _name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"):
    os.environ.pop(_name, None)
os.environ["SSL_CERT_DIR"] = str(ROOT / "tests")
# It hides what a program still has to write at its end, and cuts each print into words.
os.environ.pop("PYTHONUNBUFFERED", None)

# A loaded machine is no failed property: the number of examples bounds the time, not a deadline per example.
# Examples are the same in every run, so that a change is blamed only for what it did; `ACCORD_RANDOM=1` looks for new
# ones, and more of them, which then become tests of their own.
_is_random = os.environ.get("ACCORD_RANDOM", "") not in {"", "0"}
settings.register_profile(
    "accord", deadline=None, print_blob=True, derandomize=not _is_random, max_examples=100 if _is_random else 40
)
settings.load_profile("accord")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs `async def` tests, each in a loop of its own, and not longer than it may take."""
    function = pyfuncitem.obj
    if not inspect.iscoroutinefunction(function):
        return None
    own_limit = pyfuncitem.get_closest_marker("timeout")
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(function).parameters}
    # A test that says how long it may take is bounded by that alone.
    call(function, arguments, None if own_limit else ASYNC_TEST_SECONDS)
    return True


def pytest_configure(config: pytest.Config) -> None:
    # By default a third of the time of a screen's test went into looking at what the tests have imported.
    gc.set_threshold(20_000, 20, 20)
    if config.option.timeout is None:
        config.option.timeout = limit(float(config.getini("timeout")))


# Around the others: what is long is left out meanwhile, and what is in want then is of this run.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    choose_rows(items)
    for item in items:
        for mark in item.iter_markers("timeout"):
            item.add_marker(pytest.mark.timeout(limit(float(mark.args[0]))), append=False)
            break
        if (ROOT / "tests" / "interop") in item.path.parents:
            item.add_marker("interop")
    if order := os.environ.get("ACCORD_ORDER"):
        items[:] = shuffled(items, order)
    yield
    left_out = leave_one_of_those_in_want(items)
    if left_out:
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: no garbage collection of a test looks at it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def schemas() -> Path:
    """The folder with the official schema files (`v1/schema.json` and so on)."""
    return Path(os.environ["ACCORD_SCHEMAS"])


@pytest.fixture(scope="session")
def python_peer_v1() -> Path:
    """The interpreter that has the official Python SDK for v1."""
    return _present(ROOT / ".peers/py-v1/bin/python", "the official Python SDK for v1")


@pytest.fixture(scope="session")
def python_peer_v2() -> Path:
    """The interpreter that has the official Python SDK for v2."""
    return _present(ROOT / ".peers/py-v2/bin/python", "the official Python SDK for v2")


@pytest.fixture(scope="session")
def oldest_python_peer() -> Path:
    """The interpreter that has the oldest official Python SDK whose objects `accord.compat.acp` runs."""
    return _present(ROOT / ".peers/py-oldest/bin/python", "the official Python SDK 0.11")


@pytest.fixture(scope="session")
def typescript_peer() -> Path:
    """The folder whose `node_modules` have the official TypeScript SDK."""
    if shutil.which("node") is None:
        pytest.skip("node is missing: install it, then run scripts/peers")
    return _present(ROOT / ".peers/ts/node_modules", "the official TypeScript SDK").parent


def _present(path: Path, what: str) -> Path:
    if not path.exists():
        pytest.skip(f"{what} is missing: run scripts/peers")
    return path


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A real PostgreSQL, one for all workers of a run."""
    from tests.postgres import started  # noqa: PLC0415

    with started(os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))) as server:
        yield server


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a store (`tests.stores.places`): a file that is not there yet, or an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "sessions.db")
    database: Database = request.getfixturevalue("database")
    return database.conninfo


@pytest.fixture
def database(postgres_server: PostgresServer) -> Iterator[Database]:
    """An empty database in it."""
    with postgres_server.database() as made:
        yield made
