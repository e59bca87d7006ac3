"""TLS and proxies on the way to an address, with real certificates and a real proxy."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from websockets.asyncio.server import ServerConnection, serve

from accord.errors import ConnectFailed
from accord.transport import RemoteOptions, Transport, connect_http, connect_websocket
from tests.limits import limit
from tests.transport.remote_peers import INITIALIZE, INITIALIZED, http_server, websocket_server


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and a certificate for 127.0.0.1, signed by itself."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(names, critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    no_password = serialization.NoEncryption()
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, no_password)
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return path


def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def talk(socket: ServerConnection) -> None:
    await socket.recv()
    await socket.send(INITIALIZED, text=True)
    await socket.wait_closed()


@contextlib.asynccontextmanager
async def tls_address(certificate: Path) -> AsyncIterator[str]:
    async with serve(talk, "127.0.0.1", 0, ssl=server_context(certificate)) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}/acp"


async def is_served(transport: Transport) -> bool:
    try:
        async with asyncio.timeout(limit(20.0)):
            await transport.send(INITIALIZE)
            return await transport.receive() == [INITIALIZED]
    finally:
        await transport.close()


async def test_a_certificate_that_the_caller_trusts_is_enough(certificate: Path) -> None:
    options = RemoteOptions(tls=ssl.create_default_context(cafile=str(certificate)), token="secret")  # noqa: S106
    async with tls_address(certificate) as address:
        assert await is_served(await connect_websocket(f"wss://{address}", options))


@pytest.mark.parametrize("scheme", ["wss", "https"])
async def test_a_certificate_that_nobody_vouches_for_is_refused(certificate: Path, scheme: str) -> None:
    connect = connect_websocket if scheme == "wss" else connect_http
    async with tls_address(certificate) as address:
        with pytest.raises(ConnectFailed):
            await is_served(await connect(f"{scheme}://{address}"))


class Proxy:
    """A proxy that knows CONNECT and whole addresses, and notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n")[0].split()
        self.asked.append(method.decode())
        place = target if method == b"CONNECT" else target.split(b"/")[2]
        host, _, port = place.decode().partition(":")
        there, back = await asyncio.open_connection(host, int(port))
        if method == b"CONNECT":
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            back.write(head.replace(target, b"/acp", 1))
        await asyncio.gather(_pump(reader, back), _pump(there, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_the_proxy_of_the_environment_is_used(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Proxy()
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    where = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    for name in ("http_proxy", "HTTP_PROXY", "ws_proxy", "all_proxy"):
        monkeypatch.setenv(name, where)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    async with contextlib.AsyncExitStack() as stack:
        if scheme == "ws":
            address = await stack.enter_async_context(websocket_server(talk))
            assert await is_served(await connect_websocket(address))
        else:
            address = await stack.enter_async_context(http_server(lambda request: request.accept()))
            assert await is_served(await connect_http(address))
    server.close()
    assert proxy.asked
