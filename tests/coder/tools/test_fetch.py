"""The tool `fetch`: which hosts are asked about, which addresses are read, and what a server cannot do to it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from accord.agent import ToolFailed
from accord.coder.tools.fetch import PageAddress, get, page_text, parse_address, private_address, private_name
from tests.coder.rig import IN_EVERY_EDITION, Scripted, Talk, agent_with, call, say, talk
from tests.coder.site import Site, page, serving
from tests.limits import limit
from tests.tables import rows


def leads_to(address: str) -> bytes:
    return page("", "text/plain", "302 Found", f"Location: {address}")


async def fetch(
    folder: Path, url: str, *, edition: Any = "1", answer: Any = True, **more: Any
) -> tuple[Scripted, Talk]:
    agent, model = agent_with(call("fetch", url=url), say("Done."), **more)
    async with talk(agent, folder, edition, answer=answer) as talked:
        await talked.ask("go")
    return model, talked


@IN_EVERY_EDITION
async def test_a_page_is_read_when_its_host_was_allowed(tmp_path: Path, edition: str) -> None:
    async with serving({"/a": page("<h1>Hello</h1><p>you &amp; me<script>evil()</script>")}) as site:
        model, talked = await fetch(tmp_path, f"http://127.0.0.1:{site.port}/a", edition=edition)

    (question,) = talked.asked
    # A private address is shown as such.
    assert "this machine" in question.title
    assert (talked.tool.kind, talked.tool.status) == ("fetch", "completed")
    (result,) = model.results()
    assert "# Hello" in result.text
    assert "you & me" in result.text
    assert "evil" not in result.text
    assert site.asked == [("/a", f"127.0.0.1:{site.port}")]


async def test_nothing_is_sent_to_a_host_that_was_not_allowed(tmp_path: Path) -> None:
    async with serving({}) as site:
        model, talked = await fetch(tmp_path, f"http://127.0.0.1:{site.port}/secret", answer=False)

    assert site.asked == []
    assert model.results()[0].text == "The user did not allow it"
    assert talked.tool.status == "cancelled"


async def test_a_host_is_not_even_looked_up_before_it_was_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[str] = []

    async def resolve(address: PageAddress) -> list[str]:
        looked_up.append(address.host)
        return ["127.0.0.1"]

    monkeypatch.setattr("accord.coder.tools.fetch.resolve", resolve)
    await fetch(tmp_path, "http://secret.example.org/", answer=False)

    assert looked_up == []


async def test_a_name_that_leads_to_a_private_address_is_asked_again_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(_: PageAddress) -> list[str]:
        return ["127.0.0.1", "8.8.8.8"]

    monkeypatch.setattr("accord.coder.tools.fetch.resolve", resolve)
    async with serving({"/": page("inner")}) as site:
        answers = iter([True, False])
        model, talked = await fetch(
            tmp_path, f"http://rebound.example.org:{site.port}/", answer=lambda _: next(answers)
        )

    assert [("this machine" in question.title) for question in talked.asked] == [False, True]
    assert site.asked == []
    assert model.results()[0].failed


@pytest.mark.parametrize(("rules", "asked"), [(["allow fetch"], 1), (["allow all"], 1), (["deny fetch"], 0)])
async def test_a_rule_never_allows_a_private_address_by_itself(tmp_path: Path, rules: list[str], asked: int) -> None:
    async with serving({"/": page("inner")}) as site:
        _, talked = await fetch(tmp_path, f"http://localhost:{site.port}/", rules=rules)

    assert len(talked.asked) == asked
    assert len(site.asked) == asked


async def test_a_rule_allows_public_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving({"/": page("public")}) as site:
        _route(monkeypatch, site)
        model, talked = await fetch(tmp_path, "http://example.org/", rules=["allow fetch"])

    assert talked.asked == []
    assert "public" in model.results()[0].text


def _route(monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    """Let every name lead to a public address, and the connection to it to the site."""

    async def resolve(_: PageAddress) -> list[str]:
        return ["93.184.215.14"]

    async def connect(host: str, _port: int, **_: Any) -> Any:
        assert host == "93.184.215.14"
        return await real("127.0.0.1", site.port)

    real = asyncio.open_connection
    monkeypatch.setattr("accord.coder.tools.fetch.resolve", resolve)
    monkeypatch.setattr("accord.coder.tools.fetch.asyncio.open_connection", connect)


async def test_each_host_on_the_way_is_asked_about_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(
        {"/": leads_to("/b"), "/b": leads_to("http://other.example.org/c"), "/c": page("there")}
    ) as site:
        _route(monkeypatch, site)
        model, talked = await fetch(tmp_path, "http://example.org/")

    assert [question.title for question in talked.asked] == [
        "Read http://example.org/", "Read http://other.example.org/c"
    ]  # fmt: skip
    assert [host for _, host in site.asked] == ["example.org", "example.org", "other.example.org"]
    assert "there" in model.results()[0].text


async def test_a_redirect_to_a_host_that_is_not_allowed_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving({"/": leads_to("http://localhost:1/admin"), "/admin": page("inner")}) as site:
        _route(monkeypatch, site)
        model, talked = await fetch(
            tmp_path, "http://example.org/", answer=lambda question: "this machine" not in question.title
        )

    assert len(talked.asked) == 2
    assert [path for path, _ in site.asked] == ["/"]
    assert model.results()[0].failed


async def test_always_holds_for_the_host_and_for_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    urls = ["http://example.org/a", "http://example.org/b", "http://example.org:81/", "http://www.example.org/"]
    agent, _ = agent_with(*(call("fetch", url=url) for url in urls), say("Done."))
    async with serving({}) as site:
        _route(monkeypatch, site)
        async with talk(agent, tmp_path, answer="allow-always") as talked:
            await talked.ask("go")

    assert len(talked.asked) == 3


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/", "file:///etc/passwd", "javascript:alert(1)", "example.org", "http://", "http://a b/",
        "http://me:pw@example.org/", "http://example.org:99999/", "http://exa\nmple.org/", "http://[::1/", "http://-/",
    ],
)  # fmt: skip
async def test_other_addresses_are_refused_before_anybody_is_asked(tmp_path: Path, url: str) -> None:
    model, talked = await fetch(tmp_path, url)

    assert talked.asked == []
    assert model.results()[0].failed


async def test_a_way_that_does_not_end_or_leaves_https_is_not_followed(tmp_path: Path) -> None:
    async with serving({"/": leads_to("/")}) as site:
        model, _ = await fetch(tmp_path, f"http://127.0.0.1:{site.port}/")
    assert "more than" in model.results()[0].text
    assert len(site.asked) == 6


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH\r\n", b"", b"HTTP/1.1 200 OK\r\nContent-Length: nonsense", page("x", "image/png"),
        page("x", "text/html", "200 OK", "Content-Encoding: gzip"), page("x", status="500 Oh no"),
    ],
)  # fmt: skip
async def test_what_is_no_page_is_a_reason(tmp_path: Path, answer: bytes) -> None:
    async with serving({"/": answer}) as site:
        model, talked = await fetch(tmp_path, f"http://127.0.0.1:{site.port}/")

    assert model.results()[0].failed
    assert talked.tool.status == "failed"


async def test_a_page_without_an_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.coder.tools.fetch.MAX_BYTES", 10_000)

    async def endless(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            writer.write(b"again and " * 1000)
            await writer.drain()

    async with serving({"/": endless}) as site:
        model, _ = await fetch(tmp_path, f"http://127.0.0.1:{site.port}/")

    (result,) = model.results()
    assert "this is its beginning" in result.text
    assert len(result.text) < 11_000


@rows("beginning", [b"", b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello"])
async def test_a_server_that_says_nothing_more_is_given_up(beginning: bytes) -> None:
    hung_up = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(beginning)
        await reader.read()
        hung_up.set()

    async with serving({"/": silent}) as site:
        with pytest.raises(ToolFailed):
            await get(parse_address(f"http://127.0.0.1:{site.port}/"), "127.0.0.1", timeout_seconds=0.1)
        async with asyncio.timeout(limit(20)):
            await hung_up.wait()


async def test_a_page_in_chunks_is_put_together(tmp_path: Path) -> None:
    async def chunked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(b"3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n")
        await reader.read()  # and keeps the connection open

    async with serving({"/": chunked}) as site:
        model, _ = await fetch(tmp_path, f"http://127.0.0.1:{site.port}/")

    assert model.results()[0].text.endswith("abcdef")


@rows(("address", "private"), [
        ("8.8.8.8", False), ("2606:4700::1111", False), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True),
        ("::", True), ("10.0.0.1", True), ("192.168.1.1", True), ("172.16.0.1", True), ("169.254.169.254", True),
        ("100.64.0.1", True), ("fe80::1", True), ("fe80::1%eth0", True), ("fc00::1", True), ("::ffff:127.0.0.1", True),
        ("::ffff:8.8.8.8", False), ("64:ff9b::7f00:1", True), ("2002:7f00:1::", True), ("224.0.0.1", True),
    ])  # fmt: skip
def test_addresses_that_are_not_public_are_known(address: str, private: bool) -> None:  # noqa: FBT001
    assert (private_address(address) is not None) == private


@rows("host", ["localhost", "localhost.", "a.localhost", "127.0.0.1", "::1"])
def test_names_of_this_machine_are_known_without_a_look_up(host: str) -> None:
    assert private_name(host) is not None


@rows(
    ("text", "expected"),
    [
        ("http://Example.org", "http://example.org/"),
        ("https://example.org:443/a?b#c", "https://example.org/a?b"),
        ("http://bücher.example/ä", "http://xn--bcher-kva.example/%C3%A4"),
        ("http://[::1]:80/", "http://[::1]/"),
    ],
)
def test_an_address_is_shown_as_it_is_looked_up(text: str, expected: str) -> None:
    assert str(parse_address(text)) == expected


def test_the_text_of_a_page_has_its_structure_and_its_links() -> None:
    html = (
        "<html><head><title>The  title</title><style>p{}</style></head><body><h2>One</h2><p>some\n  text"
        "<ul><li>a<li><a href='/b'>b</a></ul><pre>x\n  y</pre><a href='javascript:x'>no</a></body></html>"
    )

    assert page_text(html, "https://example.org/a") == (
        "The title\n\n## One\n\nsome text\n\n- a\n- [b](https://example.org/b)\n\nx\n  y\nno"
    )
