"""An address is fetched within its limits, and never leads anywhere but to the web."""

from __future__ import annotations

import io
import itertools
import socket
from http.client import HTTPMessage
from urllib.request import Request

import pytest

from accord.config.download import _NoWayDown, fetch
from accord.config.errors import DownloadError
from tests.config.web_server import page, serving


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def fetched(address: str, max_bytes: int = 1000, timeout_seconds: float = 10.0) -> bytes:
    return b"".join(fetch(address, max_bytes=max_bytes, timeout_seconds=timeout_seconds))


def refusal(address: str, max_bytes: int = 1000) -> DownloadError:
    with pytest.raises(DownloadError) as caught:
        fetched(address, max_bytes)
    assert str(caught.value).startswith(caught.value.address)
    return caught.value


def test_what_is_there_is_fetched() -> None:
    with serving({"/a": page(b"x" * 1000), "/moved": page(b"", status=302, location="/a")}) as web:
        assert fetched(f"{web}/a") == b"x" * 1000
        assert fetched(f"{web}/moved") == b"x" * 1000


def test_what_is_too_large_is_not_read_to_its_end() -> None:
    with serving({"/a": page(b"x" * 1001)}) as web:
        assert refusal(f"{web}/a").reason == "large"


def test_what_takes_too_long_is_given_up() -> None:
    clock = itertools.count(0, 100)
    with serving({"/a": page(b"x")}) as web, pytest.raises(DownloadError) as caught:
        list(fetch(f"{web}/a", max_bytes=10, timeout_seconds=10.0, clock=lambda: next(clock)))
    assert caught.value.reason == "slow"


def test_a_server_that_says_nothing_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(DownloadError) as caught:
        fetched(f"http://127.0.0.1:{silent.getsockname()[1]}/", timeout_seconds=0.05)
    assert caught.value.reason == "slow"


def test_an_error_of_the_server_is_told() -> None:
    with serving({"/a": page(b"no", status=404)}) as web:
        assert "404" in str(refusal(f"{web}/a"))


def test_what_breaks_off_is_not_taken_for_the_whole() -> None:
    with serving({"/a": page(b"half", length=8)}) as web:
        assert refusal(f"{web}/a").reason == "failed"


def test_nobody_at_the_address_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert refusal(f"http://127.0.0.1:{port}/").reason == "failed"


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://x.test/a", "data:,a", "/etc/passwd", ""])
def test_only_the_web_is_fetched(address: str) -> None:
    assert refusal(address).reason == "refused"


@pytest.mark.parametrize(
    ("location", "reason"), [("file:///etc/passwd", "failed"), ("ftp://127.0.0.1/a", "refused"), ("data:,a", "failed")]
)
def test_a_redirect_leads_nowhere_else(location: str, reason: str) -> None:
    with serving({"/a": page(b"", status=302, location=location)}) as web:
        assert refusal(f"{web}/a").reason == reason


def test_a_redirect_never_leaves_tls() -> None:
    request = Request("https://x.test/a")
    with pytest.raises(DownloadError) as caught:
        _NoWayDown().redirect_request(request, io.BytesIO(), 302, "Found", HTTPMessage(), "http://x.test/a")
    assert caught.value.reason == "refused"


def test_a_redirect_in_a_circle_ends() -> None:
    with serving({"/a": page(b"", status=302, location="/a")}) as web:
        assert refusal(f"{web}/a").reason == "failed"
