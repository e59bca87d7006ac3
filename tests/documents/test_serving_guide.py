"""docs/serving.md: its programs are mounted and asked, its lines are typed, its proxies stand in front of a server."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

import accord
from tests.documents.console import Guide
from tests.forking_python import forking_python
from tests.limits import limit
from tests.serve.in_process import running
from tests.serve.raw_clients import HttpClient, WebSocketClient, prompt_params, request, said, send
from tests.serve.server_process import serving

GUIDE = Guide("serving.md")
PROGRAMS = {
    found[1]: code for kind, code in GUIDE.blocks if kind == "python" and (found := re.match(r"# (\S+)\n", code))
}
LINES = [line for kind, code in GUIDE.blocks if kind == "sh" for line in code.splitlines()]
INITIALIZE = request(0, "initialize", {"protocolVersion": 1, "clientCapabilities": {}})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The programs of the guide as modules, in the current directory."""
    for name, code in PROGRAMS.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in PROGRAMS:
        sys.modules.pop(name.removesuffix(".py"), None)


def test_every_program_and_line_of_the_guide_is_tried() -> None:
    assert sorted(PROGRAMS) == ["fastapi_app.py", "my_agent.py", "oidc.py"]
    assert [kind for kind, _ in GUIDE.blocks].count("python") == len(PROGRAMS)
    assert len(LINES) == 5


async def test_the_agent_is_mounted_in_fastapi(folder: Path) -> None:
    app = import_module("fastapi_app").app
    async with running(app) as port:
        assert (await send(port, "POST", "/agent/acp", body=INITIALIZE)).status == 401
        async with WebSocketClient(f"ws://127.0.0.1:{port}/agent/acp", "one-token") as client:
            session_id = await client.new_session(str(folder))
            await client.prompt(session_id, "hello")
            assert said(client.seen) == "You said: hello"
        async with HttpClient(port, "another-token", path="/agent/acp") as other:
            await other.initialize()
            await other.open_stream()
            params = {"sessionId": session_id, "cwd": str(folder), "mcpServers": []}
            assert (await other.call("session/load", params))["error"]["code"] == -32002


class Issuer:
    """A provider of OpenID Connect, as far as a server needs one: its keys at an address."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        public = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        document = {"keys": [{**public, "kid": "one", "use": "sig", "alg": "RS256"}]}

        class Keys(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                import json  # noqa: PLC0415 - here alone

                body = json.dumps(document).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Keys)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self._thread = threading.Thread(target=self.server.serve_forever)
        self._thread.start()

    def token(self, *, key: Any = None, **claims: Any) -> str:
        given = {"iss": self.url, "aud": "agents", "sub": "ada", "exp": time.time() + 600, **claims}
        return jwt.encode(given, key or self.key, algorithm="RS256", headers={"kid": "one"})

    def close(self) -> None:
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


@pytest.mark.usefixtures("folder")
async def test_tokens_of_an_identity_provider_are_accepted() -> None:
    issuer = Issuer()
    try:
        authenticate = import_module("oidc").oidc(issuer.url, "agents", f"{issuer.url}/keys")
        application = import_module("my_agent").agent.asgi(authenticate=authenticate)
        stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        async with running(application) as port:
            for token, status in (
                (issuer.token(), 200),
                (issuer.token(exp=time.time() - 1), 401),
                (issuer.token(aud="somebody-else"), 401),
                (issuer.token(iss="https://other.example"), 401),
                (issuer.token(key=stranger), 401),
                ("no.token.atall", 401),
            ):
                headers = {"Authorization": f"Bearer {token}"}
                assert (await send(port, "POST", headers=headers, body=INITIALIZE)).status == status
    finally:
        issuer.close()


def test_the_lines_of_the_guide_serve(folder: Path) -> None:
    certificate(folder)
    for line in LINES:
        typed = line.replace("/srv/ada", str(folder)).replace("--port 8765", "").replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        if "--add-token" not in typed:
            typed += " --port 0"
        words = shlex.split(typed)
        variables = dict(word.split("=", 1) for word in words if "_TOKEN=" in word)
        argv = [str(forking_python()), "-m", *[word for word in words if "_TOKEN=" not in word]]
        with subprocess.Popen(
            argv, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env={**os.environ, **variables}
        ) as process:
            timer = threading.Timer(limit(30.0), process.kill)
            timer.start()
            assert process.stderr is not None
            shown = []
            for text in process.stderr:
                shown.append(text)
                if "serving at" in text:
                    process.send_signal(signal.SIGTERM)
            assert process.wait() == 0, shown
            timer.cancel()


def certificate(folder: Path) -> None:
    """A certificate of our own for localhost, as the guide names its files."""
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415 - here alone

    from cryptography import x509  # noqa: PLC0415 - here alone
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - here alone
    from cryptography.x509.oid import NameOID  # noqa: PLC0415 - here alone

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(private)


def nginx(folder: Path, front: int, back: int) -> list[str]:
    blocks = [code for kind, code in GUIDE.blocks if kind == "nginx"]
    location, mapping = blocks
    text = f"""
daemon off; pid {folder}/nginx.pid; error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    {mapping}
    server {{ listen 127.0.0.1:{front}; {location.replace("8765", str(back))} }}
}}
"""
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    return ["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder), "-e", "stderr"]


def caddy(folder: Path, front: int, back: int) -> list[str]:
    [block] = [code for kind, code in GUIDE.blocks if kind == "caddy"]
    site = block.replace("agents.example.org", f"http://127.0.0.1:{front}").replace("8765", str(back))
    (folder / "Caddyfile").write_text(f"{{\n admin off\n}}\n{site}", encoding="utf-8")
    return ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


@pytest.mark.parametrize("proxy", [nginx, caddy])
async def test_a_reverse_proxy_of_the_guide_passes_both_transports(proxy: Any, tmp_path: Path) -> None:
    if shutil.which(proxy.__name__) is None:
        pytest.skip(f"{proxy.__name__} is not installed: apt-get install {proxy.__name__}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        front = free.getsockname()[1]
    async with serving(tmp_path, "served_agent:agent", "--drain", "0.2") as server:
        environment = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
        process = await asyncio.create_subprocess_exec(
            *proxy(tmp_path, front, server.port), stderr=asyncio.subprocess.DEVNULL, env=environment
        )
        try:
            await until_open(front)
            root = str(tmp_path / "root")
            async with WebSocketClient(f"ws://127.0.0.1:{front}/acp") as client:
                session_id = await client.new_session(root)
                await client.prompt(session_id, "stream 200")
                assert said(client.seen).endswith("<199>")
            async with HttpClient(front) as http:
                session_id = await http.new_session(root)
                # While the turn waits nothing follows what it said: a proxy that buffers would hold it back.
                await http.post(request("wait", "session/prompt", prompt_params(session_id, "wait")))
                while "waiting" not in said(http.seen):
                    http.seen.append(await http.streams[session_id].next())
        finally:
            # Asked politely, Caddy waits for streams that are still open.
            process.kill()
            await process.wait()


async def until_open(port: int) -> None:
    async with asyncio.timeout(limit(20.0)):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                await writer.wait_closed()
                return


def test_the_agent_of_the_guide_is_an_agent(folder: Path) -> None:
    assert folder.exists()
    assert isinstance(import_module("my_agent").agent, accord.Agent)
