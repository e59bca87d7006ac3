"""Agents that people use, from npm: how each is started, told to use a scripted model, and what its tool is called."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.interop.llm.script import Use

__all__ = ["AGENTS", "CONTENT", "NpmAgent", "Place"]

INSTALLED = Path(__file__).parents[2] / ".peers/agents"
NODE = INSTALLED / "node/node_modules/node/bin/node"
CONTENT = "Hello from a tool\n"

# What a developer has set for agents of their own would be found by those in the tests.
FOREIGN = ("ANTHROPIC_", "AWS_", "CLAUDE", "CODEX_", "GEMINI_", "GOOGLE_", "OPENAI_", "OPENCODE")
# Nobody listens there: what does not go to the model goes nowhere.
NO_WAY_OUT = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1,localhost"}


@dataclass(frozen=True)
class Place:
    """Where one conversation happens: a home without a past, a project, and the model's address."""

    home: Path
    project: Path
    model: str

    @property
    def file(self) -> Path:
        """The file that the agent's tool makes."""
        return self.project / "greeting.txt"


@dataclass(frozen=True)
class NpmAgent:
    """How to run one of them.

    `prepare` writes its settings into its home and gives what to add to the environment; `tool` is the tool call that
    makes the file and needs permission; `login` is how to log in, where that has to be said; `rejected` is how it ends
    a turn whose tool call was rejected; `loads` is whether a session can be loaded by the next process.
    """

    name: str
    program: str
    arguments: Sequence[str]
    prepare: Callable[[Place], Mapping[str, str]]
    tool: Callable[[Place], Use]
    login: str | None = None
    rejected: str = "end_turn"
    loads: bool = True

    @property
    def argv(self) -> tuple[str, ...]:
        """The command."""
        return (str(self.path), *self.arguments)

    @property
    def path(self) -> Path:
        """Where `scripts/agents` puts it."""
        return INSTALLED / self.name / "node_modules/.bin" / self.program

    @property
    def is_installed(self) -> bool:
        """Whether it and its node are there."""
        return self.path.exists() and NODE.exists()

    def environment(self, place: Place) -> dict[str, str | None]:
        """All that is different for the agent, None for what it must not see."""
        proxies = [name for name in os.environ if name.lower().endswith("_proxy")]
        home = place.home
        return {
            **dict.fromkeys([name for name in os.environ if name.startswith(FOREIGN)] + proxies),
            **NO_WAY_OUT,
            "PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_DATA_HOME": str(home / ".local/share"),
            "XDG_STATE_HOME": str(home / ".local/state"),
            **self.prepare(place),
        }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _command(place: Place) -> str:
    return f"echo '{CONTENT.strip()}' > '{place.file}'"


# --- Gemini CLI


def _gemini_home(place: Place) -> dict[str, str]:
    settings = {
        "security": {"folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    _write(place.home / ".gemini/settings.json", json.dumps(settings))
    return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": place.model}


def _gemini_write(place: Place) -> Use:
    # Through the client: it asks to read the file, which is not there, then for permission, then to write it.
    return Use("write_file", {"file_path": str(place.file), "content": CONTENT})


# --- OpenCode


def _opencode_home(place: Place) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{place.model}/v1", "apiKey": "none"},
        "models": {"scripted": {"name": "Scripted"}},
    }
    settings = {
        "provider": {"scripted": provider},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "permission": {"bash": "ask", "edit": "ask"},
        "autoupdate": False,
        "share": "disabled",
    }
    _write(place.home / ".config/opencode/opencode.json", json.dumps(settings))
    return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}


def _opencode_command(place: Place) -> Use:
    return Use("bash", {"command": _command(place), "description": "Write a greeting"})


# --- Codex, by two adapters

CODEX_SETTINGS = """\
model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "Scripted"
base_url = "{model}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
"""


def _codex_home(place: Place) -> dict[str, str]:
    _write(place.home / ".codex/config.toml", CODEX_SETTINGS.format(model=place.model))
    # In its usual mode another model judges such commands, and no user is asked.
    return {
        "OPENAI_API_KEY": "none",
        "CODEX_HOME": str(place.home / ".codex"),
        "INITIAL_AGENT_MODE": "read-only",
        "NO_BROWSER": "1",
    }


def _codex_command(place: Place) -> Use:
    # Outside of the sandbox, which does not work everywhere and would not ask.
    asks = {"sandbox_permissions": "require_escalated", "justification": "Write a greeting?"}
    return Use("exec_command", {"cmd": _command(place), **asks})


# --- Claude


def _claude_home(place: Place) -> dict[str, str]:
    return {
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": place.model,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": str(place.home / ".claude"),
        "IS_SANDBOX": "1",  # or it does not run as root
    }


def _claude_write(place: Place) -> Use:
    return Use("Write", {"file_path": str(place.file), "content": CONTENT})


AGENTS = {
    "gemini": NpmAgent(
        "gemini",
        "gemini",
        ("--acp", "-m", "gemini-2.5-flash"),
        _gemini_home,
        _gemini_write,
        login="gemini-api-key",
        loads=False,
    ),
    "opencode": NpmAgent("opencode", "opencode", ("acp",), _opencode_home, _opencode_command),
    "codex": NpmAgent("codex", "codex-acp", (), _codex_home, _codex_command, login="api-key", rejected="cancelled"),
    "codex-zed": NpmAgent(
        "codex-zed", "codex-acp", (), _codex_home, _codex_command, login="openai-api-key", rejected="cancelled"
    ),
    "claude": NpmAgent("claude", "claude-agent-acp", (), _claude_home, _claude_write),
}
