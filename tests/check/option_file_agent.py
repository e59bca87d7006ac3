"""An agent by hand that keeps its options in a file, for all sessions and processes; in v1 and v2.

`OPTION_FILE` names the file. It is written whole, sorted and atomically at every change, as agents keep their config:
from what this process knows, so that a process with an old view writes over what another one has changed.
`OPTION_LOG` gets a line for every request that sets something. `OPTION_TRICK` is a moment at which something happens,
`set:2:before` for the second request of this process that sets something, before it is done (`after` it was written,
`answered`), `new:1:before` for the first new session; then `OPTION_SIGNAL` is sent to the parent, which is the check,
or with `OPTION_SIGNAL=die` the agent itself is killed. `OPTION_ONCE` is a file that lets this happen once only; with
`OPTION_STALL` no process of the agent says anything once that file is there.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FILE = Path(os.environ["OPTION_FILE"])
LOG = os.environ.get("OPTION_LOG", "")
TRICK = os.environ.get("OPTION_TRICK", "")
SIGNAL = os.environ.get("OPTION_SIGNAL", "")
ONCE = os.environ.get("OPTION_ONCE", "")
STALL = os.environ.get("OPTION_STALL", "")
REFUSED = os.environ.get("OPTION_REFUSES", "").split()
CHOICES = {
    "effort": ["low", "middle", "high"],
    "model": ["small", "large-and-paid"],
    "mode": ["default", "acceptEdits", "bypassPermissions"],
    "tone": ["soft", "hot"],
}
CATEGORIES = {"effort": "thought_level", "model": "model", "mode": "mode"}
FIRST = {"effort": "low", "model": "small", "mode": "default", "tone": "soft", "verbose": False}


class OptionAgent:
    def __init__(self) -> None:
        self.values = {**FIRST, **json.loads(FILE.read_text())}
        self.version = 1
        self.sessions = 0
        self.counts: dict[str, int] = {}
        self.can_toggle = False
        self.cancelled = False

    # --- what is kept

    def save(self) -> None:
        descriptor, name = tempfile.mkstemp(dir=FILE.parent)
        with os.fdopen(descriptor, "w") as file:
            file.write(json.dumps(self.values, indent=2, sort_keys=True) + "\n")
        Path(name).replace(FILE)

    def moment(self, what: str, when: str) -> None:
        if f"{what}:{self.counts[what]}:{when}" == TRICK and (not ONCE or not Path(ONCE).exists()):
            if ONCE:
                Path(ONCE).touch()
            if SIGNAL == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            os.kill(os.getppid(), getattr(signal, SIGNAL))

    def set(self, id_: str, value: Any) -> bool:
        if LOG:
            with Path(LOG).open("a") as log:
                log.write(f"{id_}={value}\n")
        self.counts["set"] = self.counts.get("set", 0) + 1
        self.moment("set", "before")
        is_known = isinstance(value, bool) if id_ == "verbose" else value in CHOICES.get(id_, ())
        if is_known and f"{id_}={value}" not in REFUSED:
            self.values[id_] = value
            self.save()
            self.moment("set", "after")
            return True
        return False

    # --- what is said

    def options(self) -> list[dict[str, Any]]:
        key = "configId" if self.version == 2 else "id"
        found: list[dict[str, Any]] = []
        for id_, values in CHOICES.items():
            option: dict[str, Any] = {key: id_, "name": id_.title(), "type": "select", "currentValue": self.values[id_]}
            option["options"] = [{"value": value, "name": value.title()} for value in values]
            if id_ in CATEGORIES:
                option["category"] = CATEGORIES[id_]
            found.append(option)
        if self.can_toggle or self.version == 2:
            toggle = {"name": "Verbose", "type": "boolean", "currentValue": self.values["verbose"]}
            found.append({key: "verbose", **toggle})
        return found

    def modes(self) -> dict[str, Any]:
        if self.version == 2:
            return {}
        modes = [{"id": mode, "name": mode.title()} for mode in CHOICES["mode"]]
        return {"modes": {"currentModeId": self.values["mode"], "availableModes": modes}}

    def update(self, session: str, **update: Any) -> None:
        say({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}})

    def request(self, method: str, params: dict[str, Any]) -> Any:
        session = str(params.get("sessionId"))
        if method == "initialize":
            return self.initialize(params)
        if method == "session/new":
            self.sessions += 1
            self.counts["new"] = self.counts.get("new", 0) + 1
            self.moment("new", "before")
            result = {"sessionId": f"{os.getpid()}-{self.sessions}", "configOptions": self.options(), **self.modes()}
            return result if Path(str(params.get("cwd"))).is_absolute() else None
        if method == "session/set_config_option" and self.set(str(params.get("configId")), params.get("value")):
            return {"configOptions": self.options()}
        if method == "session/set_mode" and self.set("mode", params.get("modeId")):
            self.update(session, sessionUpdate="current_mode_update", currentModeId=self.values["mode"])
            return {}
        if method == "session/list":
            return {"sessions": []}
        return None

    def initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        self.version = 2 if params.get("protocolVersion") == 2 and "capabilities" in params else 1
        if self.version == 2:
            return {"protocolVersion": 2, "capabilities": {"session": {}}, "info": {"name": "options", "version": "1"}}
        offered = params.get("clientCapabilities") or {}
        self.can_toggle = bool(offered.get("session"))
        return {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": {"name": "options", "version": "1"}}

    def prompt(self, id_: Any, params: dict[str, Any]) -> None:
        session = str(params.get("sessionId"))
        block = {"type": "text", "text": "hello"}
        if self.version == 1:
            self.update(session, sessionUpdate="agent_message_chunk", content=block)
            answer(id_, {"stopReason": "end_turn"})
            return
        answer(id_, {"messageId": f"u{id_}"})
        self.update(session, sessionUpdate="state_update", state="running")
        self.update(session, sessionUpdate="user_message", messageId=f"u{id_}", content=params.get("prompt"))
        self.update(session, sessionUpdate="agent_message", messageId=f"a{id_}", content=[block])
        self.update(session, sessionUpdate="state_update", state="idle", stopReason="end_turn")

    def take(self, line: str) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            say({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Invalid request"}})
            return
        if "method" not in message or "id" not in message:
            return
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if message["method"] == "session/prompt" and str(params.get("sessionId")).startswith(f"{os.getpid()}-"):
            self.prompt(message["id"], params)
            return
        result = self.request(str(message["method"]), params)
        if result is None:
            error = {"code": -32602, "message": "Invalid params"}
            if str(message["method"]).startswith(("_", "nonsense")):
                error = {"code": -32601, "message": "Method not found"}
            say({"jsonrpc": "2.0", "id": message["id"], "error": error})
        else:
            answer(message["id"], result)
            if str(message["method"]).startswith("session/set_"):
                self.moment("set", "answered")


def say(message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(id_: Any, result: Any) -> None:
    say({"jsonrpc": "2.0", "id": id_, "result": result})


if __name__ == "__main__":
    agent = OptionAgent()
    for line in sys.stdin:
        if STALL and Path(ONCE).exists():
            time.sleep(60)
        agent.take(line)
