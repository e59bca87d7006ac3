"""HTTP downloads within a limit of bytes and of time, and the check of redirects."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.parse import urlsplit

from accord.config.errors import DownloadError
from accord.version import VERSION

__all__ = ["fetch"]

_CHUNK_BYTES = 64 * 1024
_SILENCE_SECONDS = 15.0


class _NoWayDown(urllib.request.HTTPRedirectHandler):
    """Follows redirects only to http and https, and never from https to http."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        before, after = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if after not in ("http", "https") or (before == "https" and after == "http"):
            fp.close()
            raise DownloadError(req.full_url, f"it redirects to {after or 'nowhere'}", reason="refused")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    # Not `build_opener`: it would also open files, FTP and data addresses.
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _NoWayDown(),
    ):
        opener.add_handler(handler)
    return opener


def fetch(
    address: str,
    *,
    max_bytes: int,
    timeout_seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[bytes]:
    """The content of an address, chunk by chunk.

    Raises:
        DownloadError: It cannot be fetched, is too large or takes too long; `reason` says which.
    """
    if urlsplit(address).scheme not in ("http", "https"):
        raise DownloadError(address, "only http and https can be fetched", reason="refused")
    deadline = clock() + timeout_seconds
    request = urllib.request.Request(address, headers={"User-Agent": f"accord/{VERSION}"})  # noqa: S310 - see above
    try:
        with _opener().open(request, timeout=min(timeout_seconds, _SILENCE_SECONDS)) as response:
            yield from _chunks(response, address, max_bytes, lambda: deadline - clock())
    except TimeoutError as error:
        raise DownloadError(address, "no answer in time", reason="slow") from error
    except urllib.error.HTTPError as error:
        error.close()
        raise DownloadError(address, f"the server answered {error.code}", reason="failed") from error
    except urllib.error.URLError as error:
        reason = "slow" if isinstance(error.reason, TimeoutError) else "failed"
        raise DownloadError(address, str(error.reason), reason=reason) from error
    except (OSError, HTTPException, ValueError) as error:
        raise DownloadError(address, str(error) or type(error).__name__, reason="failed") from error


def _chunks(response: Any, address: str, max_bytes: int, left: Callable[[], float]) -> Iterator[bytes]:
    size = 0
    # `read1` is one read of the socket: a slow server cannot block past the deadline.
    while chunk := response.read1(_CHUNK_BYTES):
        size += len(chunk)
        if size > max_bytes:
            raise DownloadError(address, f"it is larger than {max_bytes} bytes", reason="large")
        if left() < 0:
            raise DownloadError(address, "it takes too long", reason="slow")
        yield chunk
    expected = response.length
    if expected:
        raise DownloadError(address, f"it broke off {expected} bytes before its end", reason="failed")
