"""The catalogue of agents: what the file may hold, how a row is found, and that the guide shows the same."""

from __future__ import annotations

import datetime
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from accord.config.acp_json import read_config
from accord.config.catalogue import CATALOGUE_FILE, CatalogueAgent, load_catalogue, parse_catalogue
from accord.config.entry import DEMO
from accord.config.errors import ConfigError
from tests.config.world import write
from tests.limits import limit
from tests.tables import rows

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/agents-by-name.md").read_text(encoding="utf-8")
AGENTS = list(load_catalogue().agents.values())
RUNNERS = {"npx", "uvx"}
WANTED = [
    "amp",
    "auggie",
    "blackbox",
    "claude",
    "cline",
    "codex",
    "copilot",
    "crow",
    "cursor",
    "droid",
    "fast-agent",
    "gemini",
    "goose",
    "hermes",
    "junie",
    "kilo",
    "kimi",
    "minion-code",
    "nanocoder",
    "opencode",
    "openhands",
    "pi",
    "qoder",
    "qwen",
    "stakpak",
    "vibe",
    "vtcode",
]

each_agent = rows("agent", AGENTS)


def document(**changes: Any) -> dict[str, Any]:
    row = {
        "id": "one",
        "name": "One",
        "aliases": ["first"],
        "start": [{"argv": ["one", "--acp"]}],
        "editions": ["v1"],
        "install": {"npm": "npm install -g one"},
        "login": {"sentence": "Log in.", "command": "one login"},
        "homepage": "https://example.org",
        "source": "https://example.org/acp",
        "date": "2026-11-17",
        "tried": False,
    }
    return {"version": 1, "agents": [{**row, **changes}]}


def parse(content: Any) -> list[CatalogueAgent]:
    return list(parse_catalogue(json.dumps(content).encode(), "catalogue.json").agents.values())


# --- the data


def test_the_agents_that_people_use_are_there() -> None:
    assert [name for name in WANTED if name not in load_catalogue().agents] == []


def test_the_rows_are_sorted_and_so_are_their_aliases() -> None:
    assert [agent.id for agent in AGENTS] == sorted(agent.id for agent in AGENTS)
    assert [agent.id for agent in AGENTS if list(agent.aliases) != sorted(agent.aliases)] == []


def test_no_row_takes_a_name_that_means_something_else() -> None:
    assert {DEMO, "default"}.isdisjoint(load_catalogue().names())


@each_agent
def test_names_are_plain_words(agent: CatalogueAgent) -> None:
    assert [name for name in (agent.id, *agent.aliases) if not re.fullmatch(r"[a-z][a-z0-9-]*", name)] == []


@each_agent
def test_a_row_says_where_it_comes_from_and_when(agent: CatalogueAgent) -> None:
    assert agent.source.startswith("https://")
    assert agent.homepage.startswith("https://")
    assert datetime.date(2026, 1, 1) <= agent.date <= datetime.date(2026, 11, 18)


@each_agent
def test_a_start_line_is_a_program_and_its_arguments_and_no_line_for_a_shell(agent: CatalogueAgent) -> None:
    assert agent.start
    for line in agent.start:
        words = [*line.argv, *line.requires]
        assert line.argv
        assert [word for word in words if not re.fullmatch(r"[A-Za-z0-9@._/=<>,\[\]-]+", word)] == []
        assert re.fullmatch(r"[a-z0-9-]+", line.argv[0])


@each_agent
def test_every_line_of_a_package_runner_is_marked_as_a_download_and_comes_last(agent: CatalogueAgent) -> None:
    assert [line.download for line in agent.start] == [line.argv[0] in RUNNERS for line in agent.start]
    assert list(agent.start) == sorted(agent.start, key=lambda line: line.download)


@each_agent
def test_a_download_line_names_package_and_program(agent: CatalogueAgent) -> None:
    # Without the program's name a runner guesses, and looks for the name in the folder where it runs.
    for line in agent.start:
        if line.argv[0] == "npx":
            assert line.argv[1] == "--yes"
            assert re.fullmatch(r"--package=(@[a-z0-9_-]+/)?[a-z0-9._-]+@latest", line.argv[2])
            assert line.argv[3] == "--"
            assert line.argv[4] in agent.programs
        if line.argv[0] == "uvx":
            # With an older Python than the newest version needs, uvx takes an old version without saying so.
            assert line.argv[1] == "--python"
            assert re.fullmatch(r"3\.\d\d|>=3\.\d\d(,<3\.\d\d)?", line.argv[2])
            assert line.argv[3] == "--from"
            assert line.argv[5] in agent.programs


@each_agent
def test_a_row_says_how_to_install_and_to_log_in(agent: CatalogueAgent) -> None:
    assert agent.install
    assert all(line.startswith("https://") for manager, line in agent.install.items() if manager == "page")
    assert agent.login.sentence.endswith(".")
    assert agent.login.command or agent.login.variables or agent.login.file
    assert [name for name in agent.login.variables if not re.fullmatch(r"[A-Z][A-Z0-9_]*", name)] == []


@each_agent
def test_only_agents_that_the_interoperability_tests_drive_are_marked_as_tried(agent: CatalogueAgent) -> None:
    script = (ROOT / "scripts/agents").read_text(encoding="utf-8")
    driven = re.search(rf"^{agent.id} +\S+ +\S+ +\S+$", script, re.MULTILINE) is not None
    assert agent.tried == driven
    assert agent.tried_by_hand is None or not agent.tried


@each_agent
def test_what_was_tried_is_what_the_row_downloads(agent: CatalogueAgent) -> None:
    script = (ROOT / "scripts/agents").read_text(encoding="utf-8")
    packages = {
        line.argv[2].removeprefix("--package=").removesuffix("@latest") for line in agent.start if line.download
    }
    row = re.search(rf"^{agent.id} +(\S+) ", script, re.MULTILINE)
    assert row is None or packages == {row[1]}


@each_agent
def test_a_row_sets_no_secret(agent: CatalogueAgent) -> None:
    assert [name for name in agent.env if re.search(r"KEY|TOKEN|SECRET|PASSWORD", name)] == []


def test_the_file_holds_nothing_that_looks_like_a_secret_or_a_path_of_somebody() -> None:
    text = CATALOGUE_FILE.read_text(encoding="utf-8")
    assert re.findall(r"sk-[A-Za-z0-9]|gh[pousr]_|AIza|eyJ|/home/|/Users/|/work/|/tmp/", text) == []


# --- finding a row


@rows("name", ["claude", "claude-code", "Claude", "CLAUDE-CODE-ACP"])
def test_an_agent_is_found_by_id_and_alias_in_any_case(name: str) -> None:
    agent = load_catalogue().find(name)
    assert agent is not None
    assert agent.id == "claude"


@rows("name", ["", "nobody", "clau", "claude "])
def test_an_unknown_name_finds_nothing(name: str) -> None:
    assert load_catalogue().find(name) is None


def test_the_names_are_all_ids_and_aliases() -> None:
    names = load_catalogue().names()
    assert names == sorted({name for agent in AGENTS for name in (agent.id, *agent.aliases)})


def test_importing_the_config_package_reads_no_catalogue() -> None:
    code = "import sys, accord.config, accord.config.agents; print('accord.config.catalogue' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=limit(60))
    assert result.stdout.strip() == "False"


# --- reading the file


def test_a_row_without_the_optional_keys_is_read() -> None:
    (agent,) = parse(document())
    assert (agent.env, agent.start[0].requires, agent.start[0].download) == ({}, (), False)
    assert agent.date == datetime.date(2026, 11, 17)


def test_a_later_version_is_refused_with_what_to_do() -> None:
    with pytest.raises(ConfigError) as caught:
        parse({"version": 2, "agents": "something new", "more": True})
    assert caught.value.key == "version"
    assert "update Accord" in caught.value.expected


@rows("version", [0, -1])
def test_a_version_that_never_was_is_refused(version: int) -> None:
    with pytest.raises(ConfigError) as caught:
        parse({**document(), "version": version})
    assert caught.value.key == "version"


@rows(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"agents": []}',
        b'{"version": "1", "agents": []}',
        b'{"version": 1}',
        b'{"version": 1, "agents": [], "extra": 1}',
        b"\xff",
    ],
)
def test_what_is_no_catalogue_is_refused(content: bytes) -> None:
    with pytest.raises(ConfigError):
        parse_catalogue(content, "catalogue.json")


@rows(
    "changes",
    [
        {"unknown": 1},
        {"start": [{"argv": "one --acp"}]},
        {"start": [{"argv": ["one"], "shell": True}]},
        {"editions": ["v3"]},
        {"install": {"yum": "yum install one"}},
        {"login": {"command": "one login"}},
        {"date": "yesterday"},
        {"tried": "yes"},
        {"tried_by_hand": True},
        {"env": {"A": None}},
    ],
)
def test_a_row_with_a_wrong_or_unknown_key_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        parse(document(**changes))


@rows("aliases", [["ONE"], ["two"], ["Second"]])
def test_a_name_that_two_rows_have_is_refused(aliases: list[str]) -> None:
    both = document()
    both["agents"].append({**both["agents"][0], "id": "two", "aliases": ["second"]})
    parse(both)
    both["agents"][0 if aliases != ["ONE"] else 1]["aliases"] = aliases
    with pytest.raises(ConfigError):
        parse(both)


def test_an_alias_that_repeats_the_id_is_refused() -> None:
    with pytest.raises(ConfigError):
        parse(document(aliases=["one"]))


# --- the guide


def table_writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("catalogue_tables", ROOT / "scripts/catalogue.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_guide_shows_the_rows_of_the_catalogue() -> None:
    assert table_writer().tables(load_catalogue()) in GUIDE, "run python scripts/catalogue.py"
    assert table_writer().main(["--check"]) == 0


def test_the_configs_that_the_guide_shows_are_right(tmp_path: Path) -> None:
    blocks = re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)
    assert blocks
    for block in blocks:
        file = read_config(write(tmp_path / "acp.json", block), "user")
        assert file is not None
        assert (file.errors, file.warnings) == ((), ())


def test_the_program_that_the_guide_shows_runs() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    result = subprocess.run(
        [sys.executable, "-c", block], capture_output=True, text=True, check=True, timeout=limit(60)
    )
    assert result.stdout.strip()
