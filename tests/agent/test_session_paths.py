"""Names of links for a model, which every framework and the coder use."""

from __future__ import annotations

from accord.adapters.prompt_parts import prompt_parts
from accord.agent.session_paths import name_of_uri
from accord.coder.memory import message_of
from accord.session.content import Link
from tests.tables import rows

NAMES = {
    "file:///work/src/a.py": "src/a.py",
    "file:///work/a%20b.txt": "a b.txt",
    "file:///elsewhere/a.py": "/elsewhere/a.py",
    "file:": "file:",
    "https://example.com/a.py": "https://example.com/a.py",
    "http://[no address": "http://[no address",
    "": "",
}


@rows(("uri", "name"), NAMES.items())
def test_a_file_is_named_by_its_path_and_anything_else_by_its_uri(uri: str, name: str) -> None:
    assert name_of_uri(uri, "/work") == name


@rows("uri", NAMES)
def test_every_link_of_a_prompt_has_a_name_for_a_framework_and_for_the_coder(uri: str) -> None:
    link = Link(uri, "")
    assert "".join(map(str, prompt_parts([link], "/work"))) == NAMES[uri]
    assert message_of([link], "/work").text == NAMES[uri]
