"""The rich agent, the very file that every edition is tested with, serves the official clients."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import pytest

from accord.protocol.edition import V1, V2, Edition
from accord.session.transcript import Transcript
from tests.conversations import rich_stage
from tests.conversations.normalisation import normalised
from tests.conversations.rich_stage import AGENT, GREETING, WAYS, Held, Stage
from tests.forking_python import forking_python
from tests.interop.conftest import HOMES, with_needs
from tests.interop.heard import Listener
from tests.interop.programs import hold, is_gone, rich_client_on
from tests.interop.record import Conversation

EDITIONS = {"v1": V1, "v2": V2}


class Talk(NamedTuple):
    """A conversation of an official client with the rich agent, and what a client of ours would have heard."""

    client: str
    edition: Edition
    heard: Conversation
    expected: Held
    stage: Stage


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("rich"))


@pytest.fixture(scope="module", params=with_needs(*HOMES))
def talk(request: pytest.FixtureRequest, stage: Stage) -> Talk:
    sdk, name = request.param.split()
    home = request.getfixturevalue(HOMES[request.param])
    # The clients for v1 offer files and terminals.
    way = next(way for way in WAYS if way.edition is EDITIONS[name] and (way.capabilities.terminals or name == "v2"))
    expected = asyncio.run(rich_stage.hold(way, stage))
    stage.clear()
    client = rich_client_on(sdk, name, home, stage.project, stage.state)
    return Talk(
        request.param, way.edition, asyncio.run(hold(client, (str(forking_python()), *AGENT[1:]))), expected, stage
    )


def live(talk: Talk) -> Transcript:
    listener = Listener(talk.heard, talk.edition)
    listener.opened("new")
    listener.set("mode")
    listener.set("model")
    listener.turn("fix")
    listener.turn("wait")
    return listener.transcript


def continued(talk: Talk) -> Transcript:
    listener = Listener(talk.heard, talk.edition)
    listener.opened("load")
    listener.turn("recall")
    return listener.transcript


def shown(talk: Talk, transcript: Transcript) -> dict[str, Any]:
    picture = normalised(transcript)
    if talk.client == "py v2":
        # This SDK follows an older draft, whose answers have no place for commands.
        del picture["commands"]
    if talk.client == "py v1":
        # And this one follows a schema from before tool calls had names.
        for entry in picture["timeline"]:
            if isinstance(entry, dict):
                del entry["name"]
    return picture


@pytest.mark.sampled(2)
def test_the_client_saw_the_conversation_that_ours_sees(talk: Talk) -> None:
    assert shown(talk, live(talk)) == shown(talk, talk.expected.live)


def test_the_client_saw_it_again_after_a_restart_and_went_on(talk: Talk) -> None:
    assert shown(talk, continued(talk)) == shown(talk, talk.expected.continued)


def test_the_handshake_tells_what_the_agent_has(talk: Talk) -> None:
    first, second = talk.heard.result("first_initialize"), talk.heard.result("second_initialize")
    assert first == second
    if talk.edition is V1:
        assert first["agentInfo"]["name"] == "rich"
        assert first["agentCapabilities"]["loadSession"] is True
        assert {"list", "resume", "close", "delete"} <= first["agentCapabilities"]["sessionCapabilities"].keys()
    else:
        assert first["info"]["name"] == "rich"
        assert {"delete", "prompt"} <= first["capabilities"]["session"].keys()


def test_the_user_is_asked_once_about_the_edit_before_it_happens(talk: Talk) -> None:
    methods = [method for method, _ in talk.heard.received("fix")]
    (asked,) = (params for method, params in talk.heard.received("fix") if method == "session/request_permission")
    call = asked["toolCall"] if talk.edition is V1 else asked["subject"]["toolCall"]
    assert (call["title"], call["kind"]) == ("Edit greeting.txt", "edit")
    assert [option["optionId"] for option in asked["options"]] == ["allow", "allow-always", "reject"]
    if talk.edition is V1:
        assert methods.index("session/request_permission") < methods.index("fs/write_text_file")
    else:
        states = [update["state"] for update in talk.heard.updates("fix") if update["sessionUpdate"] == "state_update"]
        assert states == ["running", "requires_action", "running", "idle"]


def test_files_and_terminals_are_the_clients_in_v1_and_the_agents_in_v2(talk: Talk) -> None:
    asked = [method for scene in ("fix", "wait") for method, _ in talk.heard.received(scene)]
    services = [method for method in asked if method.startswith(("fs/", "terminal/"))]
    run = ["terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/release"]
    stopped = [*run[:2], "terminal/kill", *run[2:]]
    expected = ["fs/read_text_file"] * 3 + ["fs/write_text_file"] * 2 + run + stopped
    assert services == (expected if talk.edition is V1 else [])


def test_the_files_are_changed_and_no_terminal_is_left(talk: Talk) -> None:
    project = talk.stage.project
    assert (project / "greeting.txt").read_text(encoding="utf-8") == GREETING.replace("Go away", "Welcome")
    assert (project / "log/changes.txt").read_text(encoding="utf-8") == "made it friendly\n"
    if talk.heard.has("left"):
        assert talk.heard.result("left") == []


def test_a_cancelled_tool_call_is_failed_in_v1_and_cancelled_in_v2(talk: Talk) -> None:
    reports = [update for update in talk.heard.updates("wait") if update["sessionUpdate"] == "tool_call_update"]
    assert reports[-1]["status"] == ("failed" if talk.edition is V1 else "cancelled")


def test_a_turn_ends_with_its_stop_reason_where_the_edition_tells_it(talk: Talk) -> None:
    for scene, reason in (("fix", "end_turn"), ("wait", "cancelled"), ("recall", "end_turn"), ("help", "end_turn")):
        if talk.edition is V1:
            assert talk.heard.result(scene)["stopReason"] == reason
        else:
            last = talk.heard.updates(scene)[-1]
            assert (last["sessionUpdate"], last["state"], last["stopReason"]) == ("state_update", "idle", reason)


def test_mode_and_model_are_set_and_kept_over_the_restart(talk: Talk) -> None:
    for scene in ("model", "load", "resume"):
        result = talk.heard.result(scene)
        values = {
            option.get("id", option.get("configId")): option["currentValue"] for option in result["configOptions"]
        }
        assert (values["mode"], values["model"]) == ("code", "large")
        # In v1 a client has to say that it can show toggles.
        assert ("web" in values) is (talk.edition is V2)
        if talk.edition is V1 and scene != "model":
            assert result["modes"]["currentModeId"] == "code"


def test_the_session_is_listed_with_its_title(talk: Talk) -> None:
    (session,) = talk.heard.result("list")["sessions"]
    assert session["sessionId"] == talk.heard.result("new")["sessionId"]
    assert (session["cwd"], session["title"]) == (str(talk.stage.project), "A better greeting")


def test_a_slash_command_gets_what_stands_behind_it(talk: Talk) -> None:
    said = [update for update in talk.heard.updates("help") if update["sessionUpdate"] == "agent_message_chunk"]
    assert [update["content"]["text"] for update in said] == ["No help about tests."]


def test_a_closed_session_takes_no_prompt_until_it_is_resumed(talk: Talk) -> None:
    assert talk.heard.result("close") == {}
    closed = talk.heard.scene("closed")
    assert closed["code"] == -32002
    assert closed["data"] == {"sessionId": talk.heard.result("new")["sessionId"]}
    told = [update["sessionUpdate"] for update in talk.heard.updates("resume")]
    assert told == (["available_commands_update"] if talk.edition is V1 else ["state_update"])


def test_the_agent_ends_when_the_client_is_done_and_nothing_is_left(talk: Talk) -> None:
    assert talk.heard.exit["code"] == 0
    assert is_gone(talk.heard.exit["pid"])
