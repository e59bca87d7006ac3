"""On a slow machine everything may take longer, and nothing shorter than usual."""

import os
import subprocess
import sys

import pytest

from accord.time_scale import factor_of
from tests.tables import rows

PROGRAM = "from accord.transport.child import GRACE_SECONDS; print(GRACE_SECONDS)"


@rows(
    ("text", "factor"),
    [
        ("", 1.0),
        ("1", 1.0),
        ("4", 4.0),
        ("2.5", 2.5),
        ("0.1", 1.0),
        ("-3", 1.0),
        ("many", 1.0),
        ("nan", 1.0),
        ("1e9", 1000.0),
    ],
)
def test_a_factor_is_a_number_from_one_to_a_thousand(text: str, factor: float) -> None:
    assert factor_of(text) == factor


@pytest.mark.parametrize(("text", "seconds"), [("", 2.0), ("5", 10.0)])
def test_an_agent_has_longer_to_leave_where_the_variable_says_so(text: str, seconds: float) -> None:
    environment = {**os.environ, "ACCORD_TIME_SCALE": text}
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, check=True, timeout=60
    )
    assert float(finished.stdout) == seconds
