"""Questions of an agent to its user: permission, forms, addresses, and every possible answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, get_args

import pytest

from accord.agent import ClientFeature, Permission, Tool, Turn
from accord.agent.question import ALLOW_OPTIONS
from accord.errors import LocalProtocolError, RequestError
from accord.session.option import PermissionOption
from tests.agent.rig import ELICITS, IN_EVERY_EDITION, Answer, Heard, agent_of, allow, choose, served
from tests.limits import limit
from tests.tables import rows

PERMISSION = "session/request_permission"
ELICITATION = "elicitation/create"
WITH_FORMS = rows("edition", ["v1", "v2"])


async def run(handler: Any, edition: str, answer: Answer | None = None, **capabilities: Any) -> Heard:
    async with served(agent_of(handler), edition, capabilities) as hand:
        if answer is not None:
            hand.answers = {PERMISSION: answer, ELICITATION: answer}
        return await hand.turn(await hand.new_session())


# --- without await


@pytest.mark.filterwarnings("error")
@rows(
    "ask",
    [
        lambda turn, tool: turn.request_permission(tool),
        lambda turn, _: turn.elicit("Which?", {"name": {"type": "string"}}),
        lambda turn, _: turn.elicit_url("Log in", "https://example.com"),
    ],
)
async def test_a_question_that_is_not_awaited_is_neither_yes_nor_no(ask: Callable[[Turn, Tool], Any]) -> None:
    raised: list[BaseException | None] = []
    passed: list[str] = []

    async def reply(turn: Turn) -> None:
        async with turn.tool("Write", kind="edit", status="pending") as tool:
            if ask(turn, tool):
                passed.append("yes")
            passed.append("no")
        raised.append(tool.error)

    await run(reply, "v1", allow, **ELICITS)
    assert passed == []
    assert [type(error) for error in raised] == [TypeError]


async def test_a_question_may_be_asked_in_a_task_of_its_own() -> None:
    async def reply(turn: Turn) -> None:
        permission = await asyncio.create_task(turn.request_permission("May I?"))
        again = await asyncio.wait_for(turn.request_permission("And now?"), limit(5))
        await turn.say(f"{permission.allowed} {again.allowed}")

    assert (await run(reply, "v1", allow)).text == "True True"


# --- permission


def asking(subject: str = "tool") -> Any:
    async def reply(turn: Turn) -> None:
        if subject == "bare":
            permission = await turn.request_permission("May I?")
        elif subject == "command":
            permission = await turn.request_permission("Run it?", command=["rm", "-r", "my files"])
        else:
            async with turn.tool("Write", kind="edit", status="pending", input={"a": 1}) as tool:
                await tool.diff("a.txt", "old", "new")
                permission = await turn.request_permission(tool, title="Overwrite?", description="It is there already")
        chosen = permission.option_id
        await turn.say(f"{permission.allowed} {bool(permission)} {permission.always} {chosen}")

    return reply


@IN_EVERY_EDITION
async def test_a_line_for_a_shell_is_asked_as_it_is(edition: str) -> None:
    line = "make 2>&1 | tail -3"
    asked: list[dict[str, Any]] = []

    async def reply(turn: Turn) -> None:
        with pytest.raises(ValueError, match="both"):
            await turn.request_permission("Run it?", command=["make"], shell_line=line)
        await turn.request_permission("Run it?", shell_line=line)

    def answer(params: dict[str, Any]) -> Any:
        asked.append(params)
        return allow(params)

    await run(reply, edition, answer)
    assert [line in str(params) for params in asked] == [True]


@IN_EVERY_EDITION
@rows("subject", ["tool", "bare", "command"])
@rows(
    ("answer", "meaning"),
    [
        (choose("allow"), "True True False allow"),
        (choose("allow-always"), "True True True allow-always"),
        (choose("reject"), "False False False reject"),
        (choose("never offered"), "False False False None"),
        (lambda _: {"outcome": {"outcome": "cancelled"}}, "False False False None"),
        (lambda _: {"outcome": {"outcome": "_postponed", "until": "later"}}, "False False False None"),
    ],
)
async def test_only_an_option_that_was_offered_and_allows_is_a_permission(
    edition: str, subject: str, answer: Answer, meaning: str
) -> None:
    heard = await run(asking(subject), edition, answer)
    assert heard.text == meaning
    assert heard.stop_reason == "end_turn"
    if edition == "v2":
        assert heard.states == ["running", "requires_action", "running", "idle"]


@IN_EVERY_EDITION
@rows("subject", ["bare", "command"])
@rows(("option", "status"), [("allow", "completed"), ("reject", "failed")])
async def test_a_question_about_no_tool_call_leaves_none_open(
    edition: str, subject: str, option: str, status: str
) -> None:
    heard = await run(asking(subject), edition, choose(option))
    statuses = [call["status"] for call in heard.tools().values()]
    # v2 can ask without one; the others had to show one, and end it.
    assert statuses == ([] if edition == "v2" else [status])


@IN_EVERY_EDITION
async def test_a_question_about_a_tool_call_shows_what_it_is_about(edition: str) -> None:
    heard = await run(asking(), edition, allow)
    (request,) = heard.requests(PERMISSION)
    params = request["params"]
    call = params["subject"]["toolCall"] if edition == "v2" else params["toolCall"]
    ((call_id, told),) = heard.tools().items()
    assert call["toolCallId"] == call_id
    assert call["rawInput"] == {"a": 1}
    assert call["content"][0]["type"] == "diff"
    assert [option["optionId"] for option in params["options"]] == [option.id for option in ALLOW_OPTIONS]
    if edition == "v2":
        assert (params["title"], params["description"]) == ("Overwrite?", "It is there already")
    else:
        assert "Overwrite?" in str(params)
        assert told["title"] == "Write"
    # All that was told before is there before the question.
    before = Heard(heard.messages[: heard.messages.index(request)])
    assert [item["type"] for item in before.tools()[call_id]["content"]] == ["diff"]
    if edition == "v2":
        assert before.states[-1] == "requires_action"


@IN_EVERY_EDITION
async def test_a_command_is_asked_about_as_it_would_be_typed(edition: str) -> None:
    heard = await run(asking("command"), edition, allow)
    (request,) = heard.requests(PERMISSION)
    assert "rm -r 'my files'" in str(request["params"]).replace('"', "").replace("\\", "")


@IN_EVERY_EDITION
async def test_a_command_of_a_tool_call_names_it(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        async with turn.tool("Run", status="pending", id="call-7") as tool:
            await turn.request_permission(tool, command=["ls"])

    (request,) = (await run(reply, edition, allow)).requests(PERMISSION)
    assert "call-7" in str(request["params"])


@IN_EVERY_EDITION
async def test_a_pending_call_begins_when_it_is_allowed(edition: str) -> None:
    (call,) = (await run(asking(), edition, allow)).tools().values()
    assert call["statuses"][-2:] == ["in_progress", "completed"]


@IN_EVERY_EDITION
async def test_a_call_that_was_refused_and_did_nothing_is_not_completed(edition: str) -> None:
    (call,) = (await run(asking(), edition, choose("reject"))).tools().values()
    assert call["status"] == ("cancelled" if edition == "v2" else "failed")
    assert "in_progress" not in call["statuses"]


@IN_EVERY_EDITION
async def test_a_call_that_was_refused_can_still_be_ended_otherwise(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        async with turn.tool("Write", status="pending") as tool:
            if not await turn.request_permission(tool):
                await tool.complete("Left as it was")

    (call,) = (await run(reply, edition, choose("reject"))).tools().values()
    assert call["status"] == "completed"


@IN_EVERY_EDITION
async def test_a_call_that_was_ended_meanwhile_stays_as_it_is(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        tool = await turn.tool("Write", status="pending").start()
        asked = asyncio.ensure_future(turn.request_permission(tool, title="Sure?"))
        await turn.session._publisher.flush()
        await tool.fail("too slow")
        assert await asked

    (call,) = (await run(reply, edition, allow)).tools().values()
    assert call["status"] == "failed"
    assert call["title"] == "Write"


@IN_EVERY_EDITION
async def test_own_options_are_offered_and_the_meta_of_the_prompt_goes_with_the_question(edition: str) -> None:
    options = [PermissionOption("y", "Yes", "allow_once"), PermissionOption("n", "Never", "reject_always")]

    async def reply(turn: Turn) -> None:
        permission = await turn.request_permission("Sure?", options=options, meta={"own": 1})
        assert permission.option is options[1]
        assert permission.always
        assert not permission.allowed

    async with served(agent_of(reply), edition) as hand:
        hand.answers[PERMISSION] = choose("n")
        heard = await hand.turn(await hand.new_session(), "go", _meta={"traceparent": "00-1-2-01"})
    assert heard.stop_reason == "end_turn"
    (request,) = heard.requests(PERMISSION)
    assert request["params"]["_meta"] == {"traceparent": "00-1-2-01", "own": 1}
    assert [option["name"] for option in request["params"]["options"]] == ["Yes", "Never"]


@IN_EVERY_EDITION
@rows("options", [[], [ALLOW_OPTIONS[0], ALLOW_OPTIONS[0]]])
async def test_a_question_without_different_options_is_the_authors_mistake(edition: str, options: Any) -> None:
    async def reply(turn: Turn) -> None:
        with pytest.raises(ValueError, match="options"):
            await turn.request_permission("Sure?", options=options)

    assert (await run(reply, edition)).stop_reason == "end_turn"


@IN_EVERY_EDITION
async def test_a_client_that_fails_to_answer_raises_and_that_does_not_travel_on(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        if turn.text == "catch":
            with pytest.raises(RequestError) as caught:
                await turn.request_permission("Sure?")
            await turn.say(str(caught.value.code))
        else:
            await turn.request_permission("Sure?")

    async with served(agent_of(reply), edition) as hand:
        hand.answers[PERMISSION] = lambda _: {"error": {"code": -32050, "message": "secret of the client"}}
        session = await hand.new_session()
        assert (await hand.turn(session, "catch")).text == "-32050"
        heard = await hand.turn(session)
    assert heard.error["code"] == -32603
    assert "secret" not in str(heard.error)
    if edition == "v2":
        assert heard.states == ["running", "requires_action", "running", "idle"]


async def test_one_answer_of_two_does_not_mean_that_work_goes_on() -> None:
    async def reply(turn: Turn) -> None:
        first, second = await asyncio.gather(turn.request_permission("One?"), turn.request_permission("Two?"))
        await turn.say(f"{bool(first)} {bool(second)}")

    async with served(agent_of(reply), "v2") as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        one, two = await hand.asked(PERMISSION), await hand.asked(PERMISSION)
        await hand.reply(two, choose("reject")({}))
        assert Heard(await hand.drain()).states == []
        await hand.reply(one, allow({}))
        heard = await hand.ended(prompt)
    assert heard.text == "True False"
    assert heard.states == ["running", "requires_action", "running", "idle"]


def test_a_permission_that_nobody_gave_allows_nothing() -> None:
    permission = Permission._chosen(None, ALLOW_OPTIONS)
    assert (permission.option_id, permission.allowed, permission.always) == (None, False, False)
    assert not permission


# --- forms and addresses


@WITH_FORMS
@rows(
    ("answer", "meaning"),
    [
        ({"action": "accept", "content": {"name": "Ada"}}, "accept True {'name': 'Ada'}"),
        ({"action": "accept"}, "accept True {}"),
        ({"action": "decline"}, "decline False {}"),
        ({"action": "cancel"}, "cancel False {}"),
        ({"action": "_later"}, "cancel False {}"),
    ],
)
async def test_a_form_is_asked_and_its_answer_means_what_it_says(
    edition: str, answer: dict[str, Any], meaning: str
) -> None:
    async def reply(turn: Turn) -> None:
        assert turn.can("elicit")
        given = await turn.elicit("Who are you?", {"name": {"type": "string"}, "age": {"type": "integer"}})
        await turn.say(f"{given.action} {bool(given)} {given.content}")

    heard = await run(reply, edition, lambda _: answer, **ELICITS)
    assert heard.text == meaning
    (request,) = heard.requests(ELICITATION)
    params = request["params"]
    assert (params["mode"], params["message"]) == ("form", "Who are you?")
    assert params["requestedSchema"]["required"] == ["name", "age"]
    assert params["requestedSchema"]["properties"]["name"]["type"] == "string"
    if edition == "v2":
        assert heard.states == ["running", "requires_action", "running", "idle"]


@WITH_FORMS
async def test_a_form_may_belong_to_a_tool_call_and_have_fields_that_are_not_required(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        async with turn.tool("Log in", id="call-1") as tool:
            await turn.elicit("Name?", {"name": {"type": "string"}}, required=[], tool=tool)
            await turn.elicit_url("Visit", "https://example.org/", tool=tool)

    form, url = (await run(reply, edition, lambda _: {"action": "accept"}, **ELICITS)).requests(ELICITATION)
    assert form["params"]["toolCallId"] == url["params"]["toolCallId"] == "call-1"
    assert not form["params"]["requestedSchema"].get("required")


@WITH_FORMS
async def test_a_form_that_is_asked_after_the_cancel_counts_as_cancelled(edition: str) -> None:
    actions: list[str] = []

    async def reply(turn: Turn) -> None:
        await turn.say("begun")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            asking = asyncio.ensure_future(turn.elicit("Who?", {"name": {"type": "string"}}))
            actions.append((await asking).action)

    async with served(agent_of(reply), edition, ELICITS) as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await hand.said("begun")
        await hand.cancel(session)
        heard = await hand.ended(prompt)
    assert heard.stop_reason == "cancelled"
    assert actions == ["cancel"]
    assert heard.requests(ELICITATION) == []


@IN_EVERY_EDITION
async def test_a_call_that_runs_already_goes_on_when_it_is_allowed(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        async with turn.tool("Write") as tool:
            await turn.request_permission(tool)

    (call,) = (await run(reply, edition, allow)).tools().values()
    assert call["statuses"] == ["in_progress", "completed"]


@WITH_FORMS
async def test_an_address_is_asked_to_be_visited(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        assert turn.can("elicit_url")
        visited = await turn.elicit_url("Please log in", "https://example.org/login")
        await turn.say(visited.action)

    heard = await run(reply, edition, lambda _: {"action": "accept"}, **ELICITS)
    (request,) = heard.requests(ELICITATION)
    assert (request["params"]["mode"], request["params"]["url"]) == ("url", "https://example.org/login")
    assert request["params"]["elicitationId"]
    assert heard.text == "accept"


@IN_EVERY_EDITION
async def test_what_was_not_offered_cannot_be_asked_and_the_error_names_the_edition(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        assert not turn.can("elicit")
        assert not turn.can("elicit_url")
        with pytest.raises(LocalProtocolError, match=rf"\b{edition}\b"):
            await turn.elicit("Who?", {"name": {"type": "string"}})
        with pytest.raises(LocalProtocolError, match=rf"\b{edition}\b"):
            await turn.elicit_url("Visit", "https://example.org/")

    heard = await run(reply, edition)
    assert heard.stop_reason == "end_turn"
    assert heard.requests(ELICITATION) == []
    if edition == "v2":
        assert heard.states == ["running", "idle"]


async def test_june_has_no_forms_whatever_its_client_says() -> None:
    async def reply(turn: Turn) -> None:
        assert not turn.can("elicit")
        with pytest.raises(LocalProtocolError, match="v2_june"):
            await turn.elicit("Who?", {"name": {"type": "string"}})

    assert (await run(reply, "v2_june", **ELICITS)).stop_reason == "end_turn"


@WITH_FORMS
async def test_a_schema_that_is_no_form_is_the_authors_mistake(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        with pytest.raises(LocalProtocolError, match="form"):
            await turn.elicit("Who?", {"name": 7})

    assert (await run(reply, edition, **ELICITS)).stop_reason == "end_turn"


@IN_EVERY_EDITION
async def test_a_capability_that_nobody_has_is_the_authors_mistake(edition: str) -> None:
    def reply(turn: Turn) -> None:
        with pytest.raises(ValueError, match="elicit_url"):
            turn.can("fly")  # type: ignore[arg-type]
        for capability in get_args(ClientFeature):
            assert isinstance(turn.can(capability), bool)

    assert (await run(reply, edition)).stop_reason == "end_turn"


# --- beside the protocol


@IN_EVERY_EDITION
async def test_an_extension_of_the_client_can_be_called_and_told(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        assert turn.client.is_connected
        assert repr(turn.client) == "<client hand 1>"
        await turn.client.notify("_tell", {"n": 1})
        answer = await turn.client.request("_ask", {"n": 2})
        await turn.say(str(answer))
        with pytest.raises(LocalProtocolError, match="underscore"):
            await turn.client.request("ask")
        with pytest.raises(LocalProtocolError, match="underscore"):
            await turn.client.notify("tell")

    async with served(agent_of(reply), edition) as hand:
        hand.answers["_ask"] = lambda params: {"twice": params["n"] * 2}
        heard = await hand.turn(await hand.new_session())
    assert heard.text == "{'twice': 4}"
    assert {"jsonrpc": "2.0", "method": "_tell", "params": {"n": 1}} in heard.messages


@WITH_FORMS
async def test_the_end_of_what_was_begun_at_an_address_can_be_told(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        visited = await turn.elicit_url("Please log in", "https://example.org/login")
        assert visited.id is not None
        await turn.client.complete_elicitation(visited.id)

    heard = await run(reply, edition, lambda _: {"action": "accept"}, **ELICITS)
    (asked,) = heard.requests(ELICITATION)
    told = [each for each in heard.messages if each.get("method") == "elicitation/complete"]
    assert [each["params"]["elicitationId"] for each in told] == [asked["params"]["elicitationId"]]
