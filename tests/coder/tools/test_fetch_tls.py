"""The tool `fetch` over https: whose certificate is trusted, and where a page may lead."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from pathlib import Path
from typing import Any

import pytest

from accord.agent import ToolFailed
from accord.coder.tools.fetch import get, parse_address
from tests.coder.rig import Scripted, Talk, agent_with, call, say, talk
from tests.coder.site import page, serving
from tests.limits import limit

x509 = pytest.importorskip("cryptography.x509", reason="cryptography is missing: pip install -c constraints.txt .[dev]")


class Certified:
    """A certificate for a host, and a server's context with it."""

    def __init__(self, folder: Path, *hosts: str) -> None:
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - behind the skip
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a site of the tests")])
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.SubjectAlternativeName([_named(host) for host in hosts]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        self.file = folder / "certificate.pem"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        secret = folder / "key.pem"
        secret.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.file, secret)


def _named(host: str) -> Any:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


@pytest.fixture
def certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certified:
    """A certificate of this machine that is trusted."""
    folder = tmp_path / "certificates"
    folder.mkdir()
    made = Certified(folder, "127.0.0.1", "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(made.file))
    return made


async def fetch(folder: Path, url: str, *, answer: Any = True, **more: Any) -> tuple[Scripted, Talk]:
    agent, model = agent_with(call("fetch", url=url), say("Done."), **more)
    async with talk(agent, folder, answer=answer) as talked:
        await talked.ask("go")
    return model, talked


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_page_over_https_is_read_where_its_certificate_is_trusted(
    tmp_path: Path, certified: Certified, host: str
) -> None:
    async with serving({"/a": page("<h1>Hello</h1>")}, certified.context) as site:
        model, talked = await fetch(tmp_path, f"https://{host}:{site.port}/a")

    assert "# Hello" in model.results()[0].text
    assert len(talked.asked) == 1
    assert site.asked == [("/a", f"{host}:{site.port}")]


async def test_a_certificate_that_nobody_trusts_is_a_reason_and_nothing_is_sent(
    tmp_path: Path, certified: Certified, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    async with serving({"/": page("secret")}, certified.context) as site:
        model, talked = await fetch(tmp_path, f"https://127.0.0.1:{site.port}/")

    (result,) = model.results()
    assert result.failed
    assert "SSL_CERT_FILE" in result.text
    assert talked.tool.status == "failed"
    assert site.asked == []


async def test_a_certificate_of_another_host_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Certified(tmp_path, "example.org")
    monkeypatch.setenv("SSL_CERT_FILE", str(other.file))
    async with serving({"/": page("secret")}, other.context) as site:
        model, _ = await fetch(tmp_path, f"https://127.0.0.1:{site.port}/")

    assert model.results()[0].failed
    assert site.asked == []


async def test_a_page_does_not_lead_from_https_to_http(tmp_path: Path, certified: Certified) -> None:
    async with serving({"/": page("plain")}) as plain:
        leads = page("", "text/plain", "302 Found", f"Location: http://127.0.0.1:{plain.port}/")
        async with serving({"/": leads}, certified.context) as site:
            model, talked = await fetch(tmp_path, f"https://127.0.0.1:{site.port}/")

    assert model.results()[0].failed
    assert len(talked.asked) == 1
    assert plain.asked == []


async def test_a_redirect_to_another_private_host_is_asked_about(tmp_path: Path, certified: Certified) -> None:
    async with serving({"/inner": page("inner")}, certified.context) as inner:
        leads = page("", "text/plain", "302 Found", f"Location: https://localhost:{inner.port}/inner")
        async with serving({"/": leads}, certified.context) as site:
            model, talked = await fetch(
                tmp_path, f"https://127.0.0.1:{site.port}/", answer=lambda question: "localhost" not in question.title
            )

    assert ["this machine" in question.title for question in talked.asked] == [True, True]
    assert model.results()[0].failed
    assert inner.asked == []


async def test_a_redirect_to_an_address_with_a_password_is_not_followed(tmp_path: Path, certified: Certified) -> None:
    leads = page("", "text/plain", "302 Found", "Location: https://me:secret@localhost/")
    async with serving({"/": leads}, certified.context) as site:
        model, talked = await fetch(tmp_path, f"https://127.0.0.1:{site.port}/")

    assert model.results()[0].failed
    assert "secret" not in model.results()[0].text
    assert len(talked.asked) == 1


async def test_a_page_over_https_without_an_end_is_cut(
    tmp_path: Path, certified: Certified, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.coder.tools.fetch.MAX_BYTES", 10_000)

    async def endless(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            writer.write(b"again and " * 1000)
            await writer.drain()

    async with serving({"/": endless}, certified.context) as site:
        model, _ = await fetch(tmp_path, f"https://127.0.0.1:{site.port}/")

    assert "this is its beginning" in model.results()[0].text
    assert len(model.results()[0].text) < 11_000


async def test_other_content_than_text_is_not_read(tmp_path: Path, certified: Certified) -> None:
    async with serving({"/": page("\x7fELF", "application/octet-stream")}, certified.context) as site:
        model, _ = await fetch(tmp_path, f"https://127.0.0.1:{site.port}/")

    assert model.results()[0].failed
    assert "ELF" not in model.results()[0].text


async def test_a_server_that_does_not_speak_tls_is_a_reason(tmp_path: Path) -> None:
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        model, _ = await fetch(tmp_path, f"https://127.0.0.1:{port}/")
    assert model.results()[0].failed


async def test_a_server_that_never_shakes_hands_is_given_up() -> None:
    hung_up = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1024):
            pass
        writer.close()
        hung_up.set()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ToolFailed):
            await get(parse_address(f"https://127.0.0.1:{port}/"), "127.0.0.1", timeout_seconds=0.1)
        async with asyncio.timeout(limit(20)):
            await hung_up.wait()


@pytest.mark.parametrize("host", ["2130706433", "127.1", "0x7f.0.0.1", "[::ffff:127.0.0.1]"])
async def test_no_rule_allows_this_machine_under_another_spelling(tmp_path: Path, host: str) -> None:
    """The system's resolver takes these for addresses of this machine, or for no host at all."""
    async with serving({"/": page("inner")}) as site:
        model, _ = await fetch(tmp_path, f"http://{host}:{site.port}/", answer=False, rules=["allow fetch"])

    assert site.asked == []
    assert model.results()[0].failed
