"""Well-known agents from npm: the start of each, its configuration for a scripted model, and its tool's name."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.interop.llm.script import Use

__all__ = ["AGENTS", "CONTENT", "NODE", "NOTE", "NOTE_AFTER", "NpmAgent", "Place"]

INSTALLED = Path(__file__).parents[2] / ".peers/agents"
NODE = INSTALLED / "node/node_modules/node/bin/node"
CONTENT = "Hello from a tool\n"
NOTE, NOTE_AFTER = "the first line\n", "the other line\n"

# What a developer has set for agents of their own would be found by those in the tests.
FOREIGN = ("ANTHROPIC_", "AWS_", "CLAUDE", "CODEX_", "GEMINI_", "GOOGLE_", "OPENAI_", "OPENCODE", "QWEN_")
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

    @property
    def note(self) -> Path:
        """The file that is there before, to be read and edited: NOTE becomes NOTE_AFTER."""
        return self.project / "note.txt"


@dataclass(frozen=True)
class NpmAgent:
    """How to run one of them.

    `prepare` writes its settings into its home and gives what to add to the environment; `tool` is the tool call that
    makes the file and needs permission; `read`, `edit` and `command` are what the calls of these kinds look like (an
    edit may need the read before it); `catalogue` is its name there; `login` is how to log in, where that has to be
    said; `rejected` is how it ends a turn whose tool call was rejected; `loads` is whether a session can be loaded by
    the next process.
    """

    name: str
    program: str
    arguments: Sequence[str]
    prepare: Callable[[Place], Mapping[str, str]]
    tool: Callable[[Place], Use]
    read: Callable[[Place], Use]
    edit: Callable[[Place], Use]
    command: Callable[[Place], Use]
    catalogue: str
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
        "model": {"name": "gemini-2.5-flash"},
    }
    _write(place.home / ".gemini/settings.json", json.dumps(settings))
    return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": place.model}


def _gemini_read(place: Place) -> Use:
    return Use("read_file", {"file_path": str(place.note)})


def _gemini_edit(place: Place) -> Use:
    texts = {"old_string": NOTE.strip(), "new_string": NOTE_AFTER.strip()}
    return Use("replace", {"file_path": str(place.note), "instruction": "Change the line", **texts})


def _gemini_command(place: Place) -> Use:
    return Use("run_shell_command", {"command": _command(place), "description": "Write a greeting"})


def _gemini_write(place: Place) -> Use:
    # Through the client: it asks to read the file, which is not there, then for permission, then to write it.
    return Use("write_file", {"file_path": str(place.file), "content": CONTENT})


# --- Qwen Code


def _qwen_home(place: Place) -> dict[str, str]:
    # In its usual mode another model judges what needs permission, and no user is asked.
    settings = {"tools": {"approvalMode": "default"}, "general": {"enableAutoUpdate": False}}
    _write(place.home / ".qwen/settings.json", json.dumps(settings))
    return {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{place.model}/v1", "OPENAI_MODEL": "scripted"}


def _qwen_read(place: Place) -> Use:
    return Use("read_file", {"file_path": str(place.note)})


def _qwen_edit(place: Place) -> Use:
    texts = {"old_string": NOTE.strip(), "new_string": NOTE_AFTER.strip()}
    return Use("edit", {"file_path": str(place.note), **texts})


def _qwen_command(place: Place) -> Use:
    return Use(
        "run_shell_command",
        {"command": _command(place), "description": "Write a greeting", "is_background": False},
    )


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


def _opencode_read(place: Place) -> Use:
    return Use("read", {"filePath": str(place.note)})


def _opencode_edit(place: Place) -> Use:
    texts = {"oldString": NOTE.strip(), "newString": NOTE_AFTER.strip()}
    return Use("edit", {"filePath": str(place.note), **texts})


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


def _codex_runs(command: str) -> Use:
    # Outside of the sandbox, which does not work everywhere and would not ask.
    asks = {"sandbox_permissions": "require_escalated", "justification": "May this be done?"}
    return Use("exec_command", {"cmd": command, **asks})


def _codex_command(place: Place) -> Use:
    return _codex_runs(_command(place))


def _codex_read(place: Place) -> Use:
    return _codex_runs(f"cat '{place.note}'")


def _codex_edit(place: Place) -> Use:
    # It has no tool for files: it knows this command line, asks for the edit in it and does that itself.
    change = f"*** Update File: {place.note}\n@@\n-{NOTE}+{NOTE_AFTER}"
    return Use("exec_command", {"cmd": f"apply_patch <<'END'\n*** Begin Patch\n{change}*** End Patch\nEND\n"})


def _codex_zed_edit(place: Place) -> Use:
    # This build does such edits inside of its sandbox only, which needs a program that few machines have.
    return _codex_runs(f"sed -i 's/{NOTE.strip()}/{NOTE_AFTER.strip()}/' '{place.note}'")


# --- Claude


def _claude_home(place: Place) -> dict[str, str]:
    return {
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": place.model,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": str(place.home / ".claude"),
        "IS_SANDBOX": "1",  # or it does not run as root
    }


def _claude_read(place: Place) -> Use:
    return Use("Read", {"file_path": str(place.note)})


def _claude_edit(place: Place) -> Use:
    texts = {"old_string": NOTE.strip(), "new_string": NOTE_AFTER.strip()}
    return Use("Edit", {"file_path": str(place.note), **texts})


def _claude_command(place: Place) -> Use:
    return Use("Bash", {"command": _command(place), "description": "Write a greeting"})


def _claude_write(place: Place) -> Use:
    return Use("Write", {"file_path": str(place.file), "content": CONTENT})


AGENTS = {
    "gemini": NpmAgent(
        "gemini",
        "gemini",
        ("--acp",),
        _gemini_home,
        tool=_gemini_write,
        read=_gemini_read,
        edit=_gemini_edit,
        command=_gemini_command,
        catalogue="gemini",
        login="gemini-api-key",
        loads=False,
    ),
    "qwen": NpmAgent(
        "qwen",
        "qwen",
        ("--acp",),
        _qwen_home,
        tool=_qwen_command,
        read=_qwen_read,
        edit=_qwen_edit,
        command=_qwen_command,
        catalogue="qwen",
    ),
    "opencode": NpmAgent(
        "opencode",
        "opencode",
        ("acp",),
        _opencode_home,
        tool=_opencode_command,
        read=_opencode_read,
        edit=_opencode_edit,
        command=_opencode_command,
        catalogue="opencode",
    ),
    "claude": NpmAgent(
        "claude",
        "claude-agent-acp",
        (),
        _claude_home,
        tool=_claude_write,
        read=_claude_read,
        edit=_claude_edit,
        command=_claude_command,
        catalogue="claude",
    ),
} | {
    name: NpmAgent(
        name,
        "codex-acp",
        (),
        _codex_home,
        tool=_codex_command,
        read=_codex_read,
        edit=edit,
        command=_codex_command,
        catalogue="codex",
        login=login,
        rejected="cancelled",
    )
    for name, login, edit in (("codex", "api-key", _codex_edit), ("codex-zed", "openai-api-key", _codex_zed_edit))
}
