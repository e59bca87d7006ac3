"""Agents that are wrong about what a session can be set to: modes, options, commands."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from tests.check.faults.change import NOBODY, edited, having, instead, refuses, sets, skips, told
from tests.check.faults.fault import JUNE, V1, V2, breaks, full
from tests.check.faults.reference.agent_v1_full import FullV1
from tests.check.faults.reference.agent_v2_sessions import OpenSession
from tests.check.faults.reference.raw import INTERNAL_ERROR, INVALID_PARAMS, Refused
from tests.check.faults.reference.store import Session

__all__: list[str] = []

# --- modes

full("ACP-MODES-001", V1, "UnknownCurrentMode")(modes=sets(currentModeId="daydreaming"))
full("ACP-MODES-002", V1, "ModesCannotBeSet")(on_session_set_mode=refuses(INTERNAL_ERROR))
full("ACP-MODES-002", V1, "ModeUpdateSaysModeId")(
    show_mode=lambda peer, _, session: peer.update(session, "current_mode_update", modeId=session.values["mode"])
)
full("ACCORD-MODES-001", V1, "AnyModeWillDo")(on_session_set_mode=instead(lambda *_: {}, having(modeId=NOBODY)))
full("ACCORD-MODES-003", V1, "ModesShareAnId")(
    modes=edited(
        lambda modes, _: {**modes, "availableModes": [*modes["availableModes"], {"id": "code", "name": "Hack"}]}
    )
)


@breaks("ACCORD-MODES-002", "v1")
class ModesWait(FullV1):
    """Sets a mode when the turn is over."""

    in_background: ClassVar[frozenset[str]] = FullV1.in_background | {"session/set_mode"}  # type: ignore[misc]

    async def on_session_set_mode(self, params: dict[str, Any]) -> Any:
        async with self.locks.setdefault(self.find(params).id, asyncio.Lock()):
            return await super().on_session_set_mode(params)


# --- options in v1 and June


def _without_category(options: list[dict[str, Any]], _: Any) -> list[dict[str, Any]]:
    return [{key: value for key, value in option.items() if key != "category"} for option in options]


def _two_names(options: list[dict[str, Any]], _: Any) -> list[dict[str, Any]]:
    extra = {"value": "large", "name": "Largest"}
    return [
        {**option, "options": [*option["options"], extra]} if option["id"] == "model" else option for option in options
    ]


def _as_in_november(options: list[dict[str, Any]], _: Any) -> list[dict[str, Any]]:
    for option in options:
        for choice in option["options"]:
            if "group" in choice:
                choice["groupId"] = choice.pop("group")
    return options


full("ACP-CONFIG-001", V1 + JUNE, "ValueIsNoChoice")(first_values=sets(model="enormous"))
full("ACP-CONFIG-002", V1 + JUNE, "OnlyTheChangedOption")(
    on_session_set_config_option=edited(
        lambda result, params: {
            "configOptions": [each for each in result["configOptions"] if each["id"] == params["configId"]]
        }
    )
)
full("ACP-CONFIG-002", V1 + JUNE, "OptionsDoNotChange")(set_value=skips(lambda _, __, id_, ___: id_ == "model"))
full("ACP-CONFIG-003", V1, "TogglesForAll")(
    offers=lambda _, old, *path: path == ("session", "configOptions", "boolean") or old(*path)
)
full("ACP-CONFIG-206", JUNE, "PartOfTheOptions")(
    show_mode=lambda peer, _, session: peer.update(
        session, "config_option_update", configOptions=peer.options(session)[:1]
    )
)
full("ACCORD-CONFIG-001", V1, "ModeWithoutOption")(options=edited(_without_category))
full("ACCORD-CONFIG-002", V1, "TwoModesAtOnce")(
    session_result=edited(lambda result, _: {**result, "modes": {**result["modes"], "currentModeId": "code"}})
)
full("ACCORD-CONFIG-003", V1, "OptionIsNotTold")(update=skips(told("config_option_update")))
full("ACCORD-CONFIG-005", V1 + JUNE, "AnyOptionWillDo")(
    on_session_set_config_option=instead(
        lambda peer, params: peer.option_result(peer.find(params)), having(configId=NOBODY)
    )
)
full("ACCORD-CONFIG-006", V1 + JUNE, "ChoicesShareAnId")(options=edited(_two_names))
full("ACCORD-JUNE-CONFIG-001", JUNE, "GroupsAsInNovember")(options=edited(_as_in_november))


@breaks("ACCORD-CONFIG-004", "v1")
class ModeIsNotTold(FullV1):
    """Tells a new mode as an option only, if it was set as one."""

    is_quiet = False

    async def on_session_set_config_option(self, params: dict[str, Any]) -> Any:
        self.is_quiet = True
        try:
            return await super().on_session_set_config_option(params)
        finally:
            self.is_quiet = False

    def show_mode(self, session: Session) -> None:
        if not self.is_quiet:
            super().show_mode(session)


# --- options in v2


def _mixes(result: dict[str, Any], _: Any) -> dict[str, Any]:
    result["configOptions"][1]["options"].append({"value": "cold", "name": "Cold"})
    return result


def _nameless(result: dict[str, Any], _: Any) -> dict[str, Any]:
    for option in result["configOptions"]:
        del option["name"]
    return result


def _value_twice(options: list[dict[str, Any]], _: Any) -> list[dict[str, Any]]:
    options[0]["options"].append({"value": "ask", "name": "Ask again"})
    return options


def _forgives(what: Any) -> Any:
    """An option that is set wrongly is answered as if nothing was wrong."""

    async def change(peer: Any, old: Any, params: dict[str, Any]) -> Any:
        try:
            return await old(params)
        except Refused as refused:
            if refused.code == INVALID_PARAMS and what(peer, params):
                return peer.set_result(peer.open_session(params))
            raise

    return change


def _changes_it(peer: Any, params: dict[str, Any]) -> bool:
    if params.get("configId") == "mode":
        peer.open_session(params).kept.values["mode"] = "code"
    return False


def _tells_one(peer: Any, session: OpenSession) -> None:
    peer.tell(session, "config_option_update", configOptions=peer.options(session)[:1])


full("ACP-CONFIG-201", V2, "MixesGroupsAndChoices")(new_result=edited(_mixes))
full("ACP-CONFIG-202", V2, "AnswersWithOneOption")(
    set_result=edited(lambda r, _: {"configOptions": r["configOptions"][:1]})
)
full("ACP-CONFIG-203", V2, "ResumesWithNamelessOptions")(on_session_resume=edited(_nameless))
full("ACP-CONFIG-204", V2, "IsSetToNoChoice")(first_values=sets(mode="dream"))
full("ACP-CONFIG-206", V2, "TellsOneOption")(tell_options=instead(_tells_one))
full("ACCORD-CONFIG-201", V2, "IgnoresUnknownOptions")(
    on_session_set_config_option=_forgives(lambda peer, params: params.get("configId") not in peer.first_values())
)
full("ACCORD-CONFIG-202", V2, "IgnoresUnknownValues")(
    on_session_set_config_option=_forgives(
        lambda peer, params: params.get("configId") in peer.first_values() and params.get("type") == "id"
    )
)
full("ACCORD-CONFIG-203", V2, "IgnoresUnknownTypes")(
    on_session_set_config_option=_forgives(lambda _, params: str(params.get("type")).startswith("_"))
)
full("ACCORD-CONFIG-204", V2, "ChangesWhatItRefuses")(on_session_set_config_option=_forgives(_changes_it))
full("ACCORD-CONFIG-205", V2, "HasAValueTwice")(options=edited(_value_twice))

# --- commands


def _commands(**fields: Any) -> Any:
    return edited(lambda commands: [{**command, **fields} for command in commands])


full("ACCORD-COMMANDS-001", V1 + JUNE, "CommandsWithSlashes")(commands=_commands(name="/greet"))
full("ACCORD-META-001", V1, "MetadataAreText")(commands=_commands(_meta="a note"))
full("ACCORD-COMMAND-201", V2, "HasACommandOfTwoWords")(commands=_commands(name="greet somebody"))
full("ACCORD-COMMAND-202", V2, "HasACommandTwice")(commands=edited(lambda commands: [*commands, *commands]))
