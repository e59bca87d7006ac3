"""The settings of a session (config options, mode, model) in one form for every edition, and which are protected.

Nothing is sent by this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from accord.check.rule import EditionName

Kind: TypeAlias = Literal["option", "mode", "model"]
"""`mode` and `model` are those of v1 beside its options: `session/set_mode`, and `session/set_model` of its drafts."""
Value: TypeAlias = str | bool


class Key(NamedTuple):
    """Names a setting of an agent."""

    kind: Kind
    id: str

    def __str__(self) -> str:
        return f"the option {self.id!r}" if self.kind == "option" else f"the {self.kind}"


@dataclass(frozen=True)
class Setting:
    key: Key
    value: Value
    choices: dict[Value, str] = field(default_factory=dict)
    """Every offered value, with its id, name and description as one text."""
    category: str = ""
    text: str = ""
    """The id, name and description of the setting as one text."""

    @property
    def others(self) -> list[Value]:
        if isinstance(self.value, bool):
            return [not self.value]
        return [value for value in self.choices if value != self.value]


# --- parsing


def settings_in(said: Any) -> list[Setting]:
    """The settings in a result or an update; malformed ones are left out."""
    if not isinstance(said, dict):
        return []
    options = [_option(option) for option in _objects(said.get("configOptions"))]
    lists = [_listed("mode", said.get("modes"), "currentModeId", "availableModes", "id")]
    lists.append(_listed("model", said.get("models"), "currentModelId", "availableModels", "modelId"))
    if said.get("sessionUpdate") == "current_mode_update" and isinstance(said.get("currentModeId"), str):
        lists.append(Setting(Key("mode", "mode"), said["currentModeId"]))
    return [setting for setting in (*options, *lists) if setting is not None]


def _objects(said: Any) -> list[dict[str, Any]]:
    return [each for each in said if isinstance(each, dict)] if isinstance(said, list) else []


def _joined(*said: Any) -> str:
    return " ".join(each for each in said if isinstance(each, str))


def _option(option: dict[str, Any]) -> Setting | None:
    id_, value = option.get("configId", option.get("id")), option.get("currentValue")
    if not isinstance(id_, str) or not isinstance(value, str | bool):
        return None
    choices: dict[Value, str] = {}
    for each in _objects(option.get("options")):
        for choice in _objects(each.get("options")) or [each]:
            if isinstance(choice.get("value"), str):
                choices[choice["value"]] = _joined(choice["value"], choice.get("name"), choice.get("description"))
    category = option.get("category")
    text = _joined(id_, option.get("name"), option.get("description"))
    return Setting(Key("option", id_), value, choices, category if isinstance(category, str) else "", text)


def _listed(kind: Kind, said: Any, current: str, available: str, id_: str) -> Setting | None:
    if not isinstance(said, dict) or not isinstance(said.get(current), str):
        return None
    choices: dict[Value, str] = {
        each[id_]: _joined(each[id_], each.get("name"), each.get("description"))
        for each in _objects(said.get(available))
        if isinstance(each.get(id_), str)
    }
    return Setting(Key(kind, kind), said[current], choices, kind, kind)


# --- requests


def request_for(edition: EditionName, session: str, key: Key, value: Value) -> tuple[str, dict[str, Any]]:
    """The method and the params that set a setting."""
    if key.kind != "option":
        return f"session/set_{key.kind}", {"sessionId": session, f"{key.kind}Id": value}
    params: dict[str, Any] = {"sessionId": session, "configId": key.id, "value": value}
    if isinstance(value, bool) or edition == "v2":
        params["type"] = "boolean" if isinstance(value, bool) else "id"
    return "session/set_config_option", params


def set_by(message: Any) -> Iterator[tuple[Any, Key, Any]]:
    """The session, the setting and the value of every request in a message that sets something."""
    for each in message if isinstance(message, list) else [message]:
        params = each.get("params") if isinstance(each, dict) else None
        method = each.get("method") if isinstance(each, dict) else None
        if not isinstance(params, dict):
            continue
        if method == "session/set_config_option" and isinstance(params.get("configId"), str):
            yield params.get("sessionId"), Key("option", params["configId"]), params.get("value")
        elif method == "session/set_mode":
            yield params.get("sessionId"), Key("mode", "mode"), params.get("modeId")
        elif method == "session/set_model":
            yield params.get("sessionId"), Key("model", "model"), params.get("modelId")


# --- protected settings

_MODEL = re.compile(r"\b(models?|providers?)\b")
_PERMISSION = re.compile(
    r"\b(permissions?|approv\w*|accept\w*|allow\w*|auto|autopilot|yolo|bypass\w*|confirm\w*|consent|danger\w*|sandbox\w*"
    r"|trust\w*|unsafe|unrestricted|skip|full access|without asking|(never|don t|dont|do not) ask|ask before|security"
    r"|network|read ?only|elevated|sudo|root|modes?)\b"
)
_STRICT = re.compile(r"\b(plan|planning|read ?only|architect)\b")
_LOOSE = re.compile(
    r"\b(auto|autopilot|accept\w*|approv\w*|bypass\w*|yolo|danger\w*|full|skip|unrestricted|without|never|dont|don t"
    r"|trust\w*|unsafe|all|edits?|write|writes|execute|build|code|agent)\b"
)


def _plain(text: str) -> str:
    """Lower-case words: `acceptEdits`, `accept_edits` and `Accept-Edits` are two words each."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return re.sub(r"[^a-z0-9]+", " ", apart.lower())


def caution_of(setting: Setting, value: Any) -> Literal["", "model", "permission"]:
    """The reason why a setting is not changed unless that is allowed: it selects the model, or may loosen permission.

    An option is about permission if its category, its own text or the text of one of its values suggests it. Such a
    setting may be set to a value whose text says that it only plans or reads, and to one that the agent does not offer
    and so has to refuse.
    """
    if value == setting.value and type(value) is type(setting.value):
        return ""
    own = _plain(setting.text)
    if setting.category in {"model", "model_config"} or _MODEL.search(own):
        return "model"
    matches = _PERMISSION.search(own) or any(_PERMISSION.search(_plain(text)) for text in setting.choices.values())
    if setting.category not in {"mode", "permission", "permissions"} and not matches:
        return ""
    if isinstance(value, str) and value not in setting.choices:
        return ""
    target = _plain(setting.choices[value]) if isinstance(value, str) else ""
    return "" if _STRICT.search(target) and not _LOOSE.search(target) else "permission"
