"""The v2 of November, rule by rule; `rules.py` has the sentences."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.requirements import batches, scenes
from tests.requirements.rules import shows
from tests.requirements.shapes import misfits, strange_keys
from tests.requirements.stage import Subject, Take
from tests.requirements.talk import is_state

# A second judge of the same agents, by other means: `tests/check/test_own.py` judges them every day.
pytestmark = pytest.mark.long

EDITION = "v2"

STOP_REASONS = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"}
MESSAGES = ("user_message", "agent_message", "agent_thought")
CHUNKS = tuple(f"{kind}_chunk" for kind in MESSAGES)
TOOLS = ("tool_call_update", "tool_call_content_chunk")
# What happened, in contrast to how things stand: a session that is resumed tells the latter only.
HISTORY = (*MESSAGES, *CHUNKS, *TOOLS, "plan_update", "compaction_update", "compaction_summary_chunk")
UPDATES = {
    *HISTORY,
    "state_update",
    "available_commands_update",
    "config_option_update",
    "session_info_update",
    "usage_update",
    "notice",
    "plan_removed",
    "terminal_update",
    "terminal_output_chunk",
}
CLIENT_METHODS = {
    "session/update",
    "session/request_permission",
    "elicitation/create",
    "elicitation/complete",
    "$/cancel_request",
}
KINDS = {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
STATUSES = {"pending", "in_progress", "paused", "completed", "failed", "cancelled"}

Recorder = Any  # pytest has no name for the type of its `record_property`


def plain_conversation(subject: Subject) -> list[Take]:
    """What every agent can be asked to do, whatever it advertises."""
    return [subject.take(scene) for scene in (scenes.sessions, scenes.strange_requests, scenes.turns, scenes.cancel)]


def every_method(subject: Subject) -> list[Take]:
    """All of v2."""
    more = (scenes.resume, scenes.listing, scenes.deleting, scenes.closing, scenes.options, scenes.meet_able)
    return [*plain_conversation(subject), *(subject.take(scene) for scene in more)]


def updates(takes: list[Take], *kinds: str) -> list[dict[str, Any]]:
    """The updates of some kinds, of all sessions."""
    told = [call["params"]["update"] for take in takes for call in take.calls("session/update")]
    return [update for update in told if update["sessionUpdate"] in kinds]


def idle_behind(take: Take, place: int) -> int:
    """Where the session became idle after a place in the record."""
    return take.place(lambda message: is_state(message, take["session"], "idle"), place)


def stop_reason(take: Take, request: Any) -> str:
    """Why the turn of a prompt ended; the prompt itself must have succeeded."""
    take.result(request)
    entry = take.record.entries[idle_behind(take, take.place_of_request(request))]
    reason: str = entry.message["params"]["update"]["stopReason"]
    return reason


# --- the handshake


@shows("ACP-INIT-001", "ACP-INIT-201")
def test_the_handshake_succeeds_with_version_two(subject: Subject) -> None:
    take = subject.take(scenes.sessions)
    version = take.result(take["initialize"])["protocolVersion"]
    assert (type(version), version) == (int, 2)


@shows("ACP-INIT-003")
def test_a_version_from_the_far_future_is_not_echoed(subject: Subject) -> None:
    take, plain = subject.take(scenes.oversized_version), subject.take(scenes.sessions)
    version = take.result(take["probe"])["protocolVersion"]
    assert plain.result(plain["initialize"])["protocolVersion"] <= version < 65535


@shows("ACP-INIT-202")
def test_who_asks_for_version_one_gets_an_answer(subject: Subject) -> None:
    take = subject.take(scenes.version_one)
    assert take.result(take["probe"])["protocolVersion"] in (1, 2)


@shows("ACP-INIT-203")
def test_the_agent_tells_its_name_and_version(subject: Subject) -> None:
    take = subject.take(scenes.sessions)
    info = take.result(take["initialize"])["info"]
    assert (info["name"], info["version"]) == (subject.name, "1.0")


def markers(capabilities: dict[str, Any]) -> Iterator[Any]:
    for key, value in capabilities.items():
        if key != "_meta":
            yield value
            if isinstance(value, dict):
                yield from markers(value)


@shows("ACP-INIT-204")
def test_capabilities_are_objects(subject: Subject) -> None:
    take = subject.take(scenes.sessions)
    said = list(markers(take.result(take["initialize"])["capabilities"]))
    assert said
    assert all(isinstance(marker, dict) or marker is None for marker in said)


@shows("ACP-SCHEMA-001")
def test_whatever_is_said_fits_the_schema(subject: Subject) -> None:
    # The rule is about the handshake; here it is about everything.
    for take in every_method(subject):
        assert misfits(take) == []


@shows("ACP-SCHEMA-002")
def test_nothing_has_keys_that_the_schema_does_not_name(subject: Subject) -> None:
    for take in every_method(subject):
        assert strange_keys(take) == []


# --- sessions and turns


@shows("ACP-SESSION-001", "ACP-SESSION-203")
def test_a_session_is_made_with_and_without_a_list_of_servers(subject: Subject) -> None:
    take = subject.take(scenes.sessions)
    with_list, without = take["new"]
    assert take.result(with_list)["sessionId"]
    assert take.result(without)["sessionId"]


@shows("ACP-SESSION-002")
def test_two_sessions_have_two_ids(subject: Subject) -> None:
    take = subject.take(scenes.sessions)
    assert len({take.result(new)["sessionId"] for new in take["new"]}) == 2


@shows("ACP-PROMPT-201")
def test_a_prompt_is_answered_with_the_id_of_its_message(subject: Subject) -> None:
    take = subject.take(scenes.turns)
    receipt = take.result(take["words"])
    assert receipt["messageId"]
    assert "stopReason" not in receipt


@shows("ACP-PROMPT-203")
def test_the_message_of_the_user_is_shown_before_the_turn_ends(subject: Subject) -> None:
    take = subject.take(scenes.turns)
    for prompt in (take["words"], take["link"], take["meta"]):
        asked = take.place_of_request(prompt)
        shown = take.updates(
            take["session"], "user_message", "user_message_chunk", since=asked, before=idle_behind(take, asked)
        )
        assert take.result(prompt)["messageId"] in [update["messageId"] for update in shown]


@shows("ACP-PROMPT-205")
def test_the_updates_of_a_turn_are_those_of_its_session(subject: Subject) -> None:
    take = subject.take(scenes.turns)
    told = take.calls("session/update")
    assert told
    assert {update["params"]["sessionId"] for update in told} == {take["session"]}
    assert misfits(take) == []


@shows("ACP-PROMPT-003")
def test_a_prompt_may_hold_a_link(subject: Subject) -> None:
    take = subject.take(scenes.turns)
    assert stop_reason(take, take["link"]) == "end_turn"


@shows("ACP-META-001")
def test_a_prompt_may_carry_metadata(subject: Subject) -> None:
    take = subject.take(scenes.turns)
    assert stop_reason(take, take["meta"]) == "end_turn"


@shows("ACP-STATE-201", "ACP-STATE-202")
def test_a_turn_runs_before_it_is_idle(subject: Subject) -> None:
    take = subject.take(scenes.turns)
    for prompt in (take["words"], take["link"], take["meta"]):
        asked = take.place_of_request(prompt)
        told = take.updates(take["session"], "state_update", since=asked, before=idle_behind(take, asked) + 1)
        assert [told[0]["state"], told[-1]["state"]] == ["running", "idle"]


@shows("ACP-STATE-203")
def test_the_end_of_a_turn_has_a_known_stop_reason(subject: Subject) -> None:
    take = subject.take(scenes.turns)
    for prompt in (take["words"], take["link"], take["meta"]):
        assert stop_reason(take, prompt) in STOP_REASONS


@shows("ACP-PROMPTCAP-001")
def test_a_prompt_with_an_image_ends(subject: Subject) -> None:
    take = subject.take(scenes.prompt_blocks)
    assert stop_reason(take, take["image"]) == "end_turn"


@shows("ACP-PROMPTCAP-002")
def test_a_prompt_with_a_recording_ends(subject: Subject) -> None:
    take = subject.take(scenes.prompt_blocks)
    assert stop_reason(take, take["audio"]) == "end_turn"


@shows("ACP-PROMPTCAP-003")
def test_a_prompt_with_an_embedded_resource_ends(subject: Subject) -> None:
    take = subject.take(scenes.prompt_blocks)
    assert stop_reason(take, take["resource"]) == "end_turn"


# --- what the client is asked


@shows("ACP-PERM-201")
def test_a_permission_question_is_whole_and_the_turn_goes_on(subject: Subject) -> None:
    take = subject.take(scenes.turns)
    questions = take.calls("session/request_permission")
    assert len(questions) == (3 if subject.is_full else 0)
    for question in questions:
        params = question["params"]
        assert params["sessionId"] == take["session"]
        assert params["title"]
        assert params["options"]
        assert all(option["optionId"] and option["name"] and option["kind"] for option in params["options"])
    assert stop_reason(take, take["words"]) == "end_turn"


@shows("ACP-CLIENTCAP-201")
def test_forms_are_shown_only_where_they_are_offered(subject: Subject) -> None:
    assert [call for take in plain_conversation(subject) for call in take.calls("elicitation/create")] == []
    assert bool(subject.take(scenes.meet_able).calls("elicitation/create")) == subject.is_full


@shows("ACP-CLIENTCAP-202")
def test_the_client_is_asked_nothing_that_v2_does_not_name(subject: Subject) -> None:
    methods = {call["method"] for take in every_method(subject) for call in take.calls()}
    assert "session/update" in methods
    assert {method for method in methods if not method.startswith("_")} <= CLIENT_METHODS


# --- cancellation


@shows("ACP-CANCEL-201", "ACP-CANCEL-203", "ACP-CANCEL-207")
def test_a_cancelled_turn_ends_with_cancelled(subject: Subject) -> None:
    take = subject.take(scenes.cancel)
    assert stop_reason(take, take["prompt"]) == "cancelled"
    assert idle_behind(take, take.place_of_request(take["prompt"])) > take["cancel"]
    assert [
        answer["error"] for answer in take.answers() if "error" in answer and answer["error"]["code"] != -32601
    ] == []


@shows("ACP-CANCEL-202")
def test_no_state_is_told_behind_the_end_of_a_cancelled_turn(subject: Subject) -> None:
    take = subject.take(scenes.cancel)
    assert take["alive"]
    assert take.updates(take["session"], "state_update", since=idle_behind(take, take["cancel"]) + 1) == []


@shows("ACP-CANCEL-204")
def test_how_soon_work_stops(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(scenes.cancel)
    entries = take.record.entries
    record_property("seconds", entries[idle_behind(take, take["cancel"])].seconds - entries[take["cancel"]].seconds)
    assert take["alive"]


@shows("ACP-CANCEL-205")
def test_a_cancellation_is_not_answered(subject: Subject) -> None:
    take = subject.take(scenes.cancel)
    asked = [
        entry.message["id"]
        for entry in take.record.entries
        if entry.sent and "method" in entry.message and "id" in entry.message
    ]
    assert sorted(answer["id"] for answer in take.answers()) == sorted(asked)


@shows("ACP-CANCEL-206")
@pytest.mark.parametrize("scene", [scenes.cancel, scenes.cancel_with_meta])
def test_a_cancellation_needs_no_more_than_the_session(subject: Subject, scene: Any) -> None:
    take = subject.take(scene)
    assert stop_reason(take, take["prompt"]) == "cancelled"


@shows("ACP-CANCEL-208", "ACP-CLOSE-202")
def test_closing_cancels_the_work(subject: Subject) -> None:
    take = subject.take(scenes.closing)
    assert take.result(take["busy"]) == {}
    assert stop_reason(take, take["prompt"]) == "cancelled"
    # All of the session's updates come before the answer.
    assert take.updates(take["session"], since=take.place_of_answer(take["busy"])) == []


@shows("ACP-INFO-CANCEL-201")
def test_what_a_cancellation_of_nothing_does(subject: Subject, record_property: Recorder) -> None:
    unknown, idle = subject.take(scenes.unknown_session), subject.take(scenes.unanswered_permission)
    record_property("unknown", [call["method"] for call in unknown.calls()])
    record_property("idle", [call["method"] for call in idle.calls()][-1])
    assert unknown["alive"]
    assert idle["alive"]


@shows("ACP-INFO-CANCEL-202")
def test_whether_the_agent_takes_its_questions_back(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(scenes.unanswered_permission)
    record_property("taken back", len(take.calls("$/cancel_request")))
    assert stop_reason(take, take["prompt"]) == "cancelled"
    assert take["alive"]


@shows("ACP-INFO-CONCURRENT-201")
def test_what_happens_to_a_second_prompt(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(scenes.two_prompts)
    record_property("second", json.dumps(take.answer(take["second"])))
    assert take["alive"]


@shows("ACP-INFO-UNKNOWNSESSION-001")
def test_how_a_prompt_for_an_unknown_session_is_answered(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(scenes.unknown_session)
    record_property("code", take.error(take["prompt"])["code"])
    assert take["alive"]


# --- lines and messages


@shows("ACP-TRANSPORT-201", "ACP-TRANSPORT-203")
def test_every_line_is_one_message(subject: Subject) -> None:
    # November has no batches: an agent says none either.
    for take in (*every_method(subject), subject.take(scenes.bad_lines), subject.take(batches.arrays)):
        assert take.record.unended == b""
        for entry in take.heard:
            assert isinstance(entry.message, dict), entry.raw
            assert entry.message["jsonrpc"] == "2.0"
            assert "method" in entry.message or "id" in entry.message
            assert b"\r" not in entry.raw


@shows("ACP-TRANSPORT-002")
def test_stdout_is_utf_8(subject: Subject) -> None:
    for take in plain_conversation(subject):
        assert all(entry.raw.decode("utf-8") for entry in take.heard)


@shows("ACP-JSONRPC-001")
def test_an_answer_has_the_id_of_its_request(subject: Subject) -> None:
    take = subject.take(scenes.strange_requests)
    for id_ in scenes.IDS:
        assert take.answer(id_)


@shows("ACP-JSONRPC-002")
def test_an_answer_is_a_result_or_an_error(subject: Subject) -> None:
    for take in (*plain_conversation(subject), subject.take(scenes.bad_lines), subject.take(batches.arrays)):
        for answer in take.answers():
            assert ("result" in answer) != ("error" in answer)
            if "error" in answer:
                assert type(answer["error"]["code"]) is int
                assert type(answer["error"]["message"]) is str


@shows("ACP-JSONRPC-003", "ACP-EXT-201")
def test_a_notification_is_not_answered(subject: Subject) -> None:
    take = subject.take(scenes.strange_requests)
    asked = [entry.message["id"] for entry in take.record.entries if entry.sent and "id" in entry.message]
    assert len(take.answers()) == len(asked)
    assert {json.dumps(answer["id"]) for answer in take.answers()} == {json.dumps(id_) for id_ in asked}
    assert take["alive"]


@shows("ACP-JSONRPC-004")
def test_an_unknown_method_is_not_found(subject: Subject) -> None:
    take = subject.take(scenes.strange_requests)
    assert take.error(take["unknown"])["code"] == -32601


@shows("ACP-JSONRPC-005")
def test_bad_requests_and_arrays_leave_the_connection_working(subject: Subject) -> None:
    take = subject.take(scenes.strange_requests)
    assert [take.error(wrong)["code"] for wrong in take["wrong"]] == [-32602, -32602]
    assert take["after"]
    assert subject.take(batches.arrays)["session"]
    assert subject.take(scenes.bad_lines)["alive"]


def is_refusal(message: Any) -> bool:
    """One error for a whole array."""
    return isinstance(message, dict) and message["id"] is None and message["error"]["code"] == -32600


@shows("ACP-BATCH-201")
def test_an_empty_array_is_refused(subject: Subject) -> None:
    (answer,) = subject.take(batches.arrays)["after"]["empty"]
    assert is_refusal(answer)


@shows("ACP-BATCH-202")
def test_an_array_of_notifications_is_refused(subject: Subject) -> None:
    take = subject.take(batches.notifications_alone)
    refusal, alive = (entry.message for entry in take.record.entries[take["since"] :] if not entry.sent)
    assert is_refusal(refusal)
    assert alive["error"]["code"] == -32601


@shows("ACP-BATCH-203", "ACP-BATCH-204", "ACP-BATCH-205")
@pytest.mark.parametrize("name", ["bad entries", "calls"])
def test_an_array_is_refused_as_a_whole(subject: Subject, name: str) -> None:
    (answer,) = subject.take(batches.arrays)["after"][name]
    assert is_refusal(answer)


@shows("ACP-BATCH-206")
def test_no_entry_of_an_array_runs(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(batches.work_in_a_batch)
    record_property("answer", json.dumps(take["last"]))
    assert is_refusal(take["last"])
    assert take["alive"]


@shows("ACP-BATCH-207")
def test_whether_the_agent_says_arrays(subject: Subject, record_property: Recorder) -> None:
    takes = every_method(subject)
    record_property("arrays", len([entry for take in takes for entry in take.heard if isinstance(entry.message, list)]))
    assert takes[0]["alive"]


@shows("ACP-BATCH-208")
def test_what_a_handshake_in_an_array_does(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(batches.arrays)
    record_property("answer", json.dumps(take["after"]["lifecycle"]))
    assert take["alive"]


@shows("ACP-INFO-BATCH-201")
def test_what_happens_after_an_array_that_is_broken_off(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(scenes.bad_lines)
    record_property("answer", take["reactions"]["a broken array"])
    assert take["alive"]


@shows("ACP-INFO-BATCH-202")
def test_what_happens_after_an_array_of_calls_and_answers(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(batches.arrays)
    record_property("answer", json.dumps(take["after"]["answers too"]))
    assert take["alive"]


# --- sessions from before


def resumes(subject: Subject) -> list[Take]:
    return [subject.take(scenes.resume), subject.take(scenes.resume_after_restart, after=scenes.keep)]


def replay(take: Take) -> list[dict[str, Any]]:
    """What was told between the wish for a replay and its answer."""
    asked, answered = take.place_of_request(take["replayed"]), take.place_of_answer(take["replayed"])
    return take.updates(take["session"], since=asked, before=answered)


@shows("ACP-RESUME-201")
def test_a_session_can_be_resumed(subject: Subject) -> None:
    for take in resumes(subject):
        assert isinstance(take.result(take["plain"]), dict)
        assert isinstance(take.result(take["replayed"]), dict)
    after_restart = resumes(subject)[-1]
    assert isinstance(after_restart.result(after_restart["empty"]), dict)


@shows("ACP-RESUME-202")
def test_a_replay_is_over_before_the_answer(subject: Subject) -> None:
    for take in resumes(subject):
        kinds = [update["sessionUpdate"] for update in replay(take)]
        assert "user_message" in kinds
        assert "agent_message" in kinds
        assert take["alive"]
        behind = take.updates(take["session"], since=take.place_of_answer(take["replayed"]))
        assert [update for update in behind if update["sessionUpdate"] != "notice"] == []


@shows("ACP-RESUME-203")
def test_resuming_without_a_wish_for_a_replay_shows_no_history(subject: Subject) -> None:
    for take in resumes(subject):
        asked, next_ = take.place_of_request(take["plain"]), take.place_of_request(take["replayed"])
        assert take.updates(take["session"], *HISTORY, since=asked, before=next_) == []


@shows("ACP-RESUME-204")
def test_a_message_of_the_user_keeps_its_id(subject: Subject) -> None:
    for take in resumes(subject):
        shown = [update["messageId"] for update in replay(take) if update["sessionUpdate"] == "user_message"]
        assert shown == [take["prompt"]["result"]["messageId"]]


@shows("ACP-RESUME-205")
def test_in_a_replay_a_chunk_comes_behind_its_message(subject: Subject) -> None:
    for take in resumes(subject):
        begun = set()
        for update in replay(take):
            kind = update["sessionUpdate"]
            if kind in MESSAGES:
                begun.add((kind, update["messageId"]))
            if kind in CHUNKS:
                assert (kind.removesuffix("_chunk"), update["messageId"]) in begun


@shows("ACP-LIST-201")
def test_sessions_can_be_listed(subject: Subject) -> None:
    take = subject.take(scenes.listing)
    assert {each["sessionId"] for each in take.result(take["all"])["sessions"]} == {take["here"], take["there"]}


@shows("ACP-LIST-202")
def test_a_folder_without_sessions_has_an_empty_list(subject: Subject) -> None:
    take = subject.take(scenes.listing)
    assert take.result(take["none"])["sessions"] == []


@shows("ACP-LIST-203")
def test_a_folder_has_its_own_sessions_in_its_list(subject: Subject) -> None:
    take = subject.take(scenes.listing)
    assert [each["sessionId"] for each in take.result(take["some"])["sessions"]] == [take["there"]]


@shows("ACP-LIST-204")
def test_the_folders_in_a_list_are_absolute(subject: Subject) -> None:
    take = subject.take(scenes.listing)
    assert all(each["cwd"].startswith("/") for each in take.result(take["all"])["sessions"])


@shows("ACP-CLOSE-201")
def test_an_idle_session_can_be_closed(subject: Subject) -> None:
    take = subject.take(scenes.closing)
    assert take.result(take["idle"]) == {}


@shows("ACP-DELETE-201")
def test_a_session_can_be_deleted(subject: Subject) -> None:
    take = subject.take(scenes.deleting)
    assert take.result(take["delete"]) == {}


@shows("ACP-DELETE-202")
def test_a_deleted_session_is_in_no_list(subject: Subject) -> None:
    take = subject.take(scenes.deleting)
    assert take["session"] not in [each["sessionId"] for each in take.result(take["list"])["sessions"]]


@shows("ACP-DELETE-203")
def test_deleting_what_is_not_there_succeeds(subject: Subject) -> None:
    take = subject.take(scenes.deleting)
    assert take.result(take["again"]) == take.result(take["unknown"]) == {}


@shows("ACP-ADDDIRS-201", "ACP-ADDDIRS-202")
def test_a_session_may_have_further_roots(subject: Subject) -> None:
    take = subject.take(scenes.additional_directories)
    assert take.result(take["new"])["sessionId"]
    assert isinstance(take.result(take["resume"]), dict)


@shows("ACP-MCP-201")
def test_a_server_on_stdio_is_accepted(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(scenes.mcp_servers)
    record_property("answer", json.dumps(take.answer(take["stdio"])))
    assert take["alive"]


@shows("ACP-MCP-202")
def test_a_server_over_http_is_accepted(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(scenes.mcp_servers)
    record_property("answer", json.dumps(take.answer(take["http"])))
    assert take["alive"]


# --- settings


def check_options(options: list[dict[str, Any]]) -> None:
    """Whether options are whole."""
    assert options
    for option in options:
        assert option["configId"]
        assert option["name"]
        assert option["type"] in {"select", "boolean"}
        if option["type"] == "select":
            assert len({"options" in each for each in option["options"]}) == 1, "grouped and flat choices mixed"


def values(option: dict[str, Any]) -> list[str]:
    """What a select can be, in groups or not."""
    return [choice["value"] for each in option["options"] for choice in each.get("options", [each])]


@shows("ACP-CONFIG-201")
def test_options_are_whole(subject: Subject) -> None:
    take = subject.take(scenes.options)
    check_options(take.result(take["new"])["configOptions"])


@shows("ACP-CONFIG-202")
def test_setting_an_option_answers_with_all_of_them(subject: Subject) -> None:
    take = subject.take(scenes.options)
    known = [option["configId"] for option in take.result(take["new"])["configOptions"]]
    assert len(take["changes"]) == len(known) == 5
    for id_, value, request in take["changes"]:
        options = {option["configId"]: option for option in take.result(request)["configOptions"]}
        assert list(options) == known
        assert options[id_]["currentValue"] == value


@shows("ACP-CONFIG-203")
def test_resuming_tells_the_options_in_the_same_shape(subject: Subject) -> None:
    take = subject.take(scenes.options)
    resumed = take.result(take["resume"])["configOptions"]
    check_options(resumed)
    assert {option["configId"]: option["currentValue"] for option in resumed} == {
        id_: value for id_, value, _ in take["changes"]
    }


@shows("ACP-CONFIG-204")
def test_the_value_of_a_select_is_one_of_its_choices(subject: Subject) -> None:
    take = subject.take(scenes.options)
    told = [take.result(request)["configOptions"] for request in (take["new"], take["resume"])]
    selects = [option for options in told for option in options if option["type"] == "select"]
    assert selects
    assert all(option["currentValue"] in values(option) for option in selects)


@shows("ACP-CONFIG-206")
def test_an_update_about_options_has_all_of_them(subject: Subject) -> None:
    take = subject.take(scenes.options)
    known = [option["configId"] for option in take.result(take["new"])["configOptions"]]
    told = take.updates(take["session"], "config_option_update")
    assert told
    for update in told:
        assert [option["configId"] for option in update["configOptions"]] == known


# --- logging in


def methods_for_all(subject: Subject) -> list[dict[str, Any]]:
    """The ways to log in that a client gets that can do everything."""
    methods: list[dict[str, Any]] = subject.take(scenes.meet_able)["initialized"].get("authMethods", [])
    assert len(methods) == (2 if subject.is_full else 0)
    return methods


@shows("ACP-AUTH-201")
def test_ways_to_log_in_have_ids_of_their_own(subject: Subject) -> None:
    ids = [method["methodId"] for method in methods_for_all(subject)]
    assert len(set(ids)) == len(ids)


@shows("ACP-AUTH-202")
def test_a_terminal_login_is_offered_only_to_who_can(subject: Subject) -> None:
    take = subject.take(scenes.sessions)
    offered = take.result(take["initialize"]).get("authMethods", [])
    assert [method for method in offered if method["type"] == "terminal"] == []
    assert len([method for method in methods_for_all(subject) if method["type"] == "terminal"]) == int(subject.is_full)


@shows("ACP-AUTH-203")
def test_logging_out_succeeds(subject: Subject) -> None:
    take = subject.take(scenes.logging_in, logged_in=False)
    assert take.result(take["logout"]) == {}
    assert take.error(take["after"])["code"] == -32000


@shows("ACP-AUTH-204")
def test_a_login_lets_sessions_be_made(subject: Subject) -> None:
    take = subject.take(scenes.logging_in, logged_in=False)
    assert take.error(take["before"])["code"] == -32000
    assert take.result(take["login"]) == {}
    assert take.result(take["between"])["sessionId"]


@shows("ACP-AUTH-205")
def test_without_a_way_to_log_in_no_login_is_asked_for(subject: Subject) -> None:
    take = subject.take(scenes.sessions)
    assert take.result(take["initialize"]).get("authMethods") or take.result(take["new"][0])["sessionId"]


@shows("ACP-AUTH-206")
def test_a_way_to_log_in_is_of_a_known_type(subject: Subject) -> None:
    for method in methods_for_all(subject):
        assert method["type"] in {"agent", "terminal"} or method["type"].startswith("_")


@shows("ACP-AUTH-207")
def test_a_terminal_login_is_well_formed(subject: Subject) -> None:
    for method in methods_for_all(subject):
        if method["type"] == "terminal":
            assert [type(argument) for argument in method["args"]] == [str]
            assert [set(variable) for variable in method["env"]] == [{"name", "value"}]
            assert len({variable["name"] for variable in method["env"]}) == len(method["env"])


# --- what updates say


def observed(subject: Subject, *kinds: str) -> list[dict[str, Any]]:
    """Updates of some kinds from everything that was played; the full agent must have told some."""
    told = updates([*every_method(subject), *resumes(subject)], *kinds)
    assert told or not subject.is_full
    return told


@shows("ACP-PATCH-201")
def test_messages_and_chunks_have_ids(subject: Subject) -> None:
    told = observed(subject, *MESSAGES, *CHUNKS)
    assert told
    assert all(update["messageId"] for update in told)


@shows("ACP-PATCH-203")
def test_two_prompts_have_two_ids(subject: Subject) -> None:
    take = subject.take(scenes.turns)
    ids = [take.result(prompt)["messageId"] for prompt in (take["words"], take["link"], take["meta"])]
    assert len(set(ids)) == 3


@shows("ACP-PATCH-204")
def test_everything_about_a_tool_call_names_it(subject: Subject) -> None:
    assert all(update["toolCallId"] for update in observed(subject, *TOOLS))
    assert all(update["content"]["type"] for update in observed(subject, "tool_call_content_chunk"))


@shows("ACP-PATCH-205")
def test_a_plan_has_an_id(subject: Subject) -> None:
    assert all(update["plan"]["planId"] for update in observed(subject, "plan_update"))


@shows("ACP-PATCH-206")
def test_a_terminal_stays_in_its_absolute_folder(subject: Subject) -> None:
    folders: dict[str, set[str]] = {}
    for update in observed(subject, "terminal_update"):
        if update.get("cwd") is not None:
            folders.setdefault(update["terminalId"], set()).add(update["cwd"])
    assert folders or not subject.is_full
    assert all(len(each) == 1 and next(iter(each)).startswith("/") for each in folders.values())


@shows("ACP-PATCH-207")
def test_each_piece_of_output_is_base64_by_itself(subject: Subject) -> None:
    pieces = [update["data"] for update in observed(subject, "terminal_output_chunk")]
    whole = [update["output"]["data"] for update in observed(subject, "terminal_update") if update.get("output")]
    assert (pieces and whole) or not subject.is_full
    assert all(isinstance(base64.b64decode(data, validate=True), bytes) for data in (*pieces, *whole))


@shows("ACP-PATCH-208")
def test_a_tool_call_begins_with_a_title_and_keeps_its_name(subject: Subject) -> None:
    for take in (*every_method(subject), *resumes(subject)):
        names: dict[str, set[str]] = {}
        for update in updates([take], *TOOLS):
            if update["toolCallId"] not in names:
                assert update["title"]
            names.setdefault(update["toolCallId"], set()).update([update["name"]] if update.get("name") else [])
        assert all(each == {"edit"} for each in names.values())


@shows("ACP-PATCH-209")
def test_a_session_requires_action_while_a_permission_is_awaited(subject: Subject) -> None:
    take = subject.take(scenes.turns)
    session = take["session"]
    for question in take.calls("session/request_permission"):
        asked = take.record.entries.index(next(entry for entry in take.heard if entry.message is question))
        needs = take.place(lambda message: is_state(message, session, "requires_action"), asked - 1)
        runs = take.place(lambda message: is_state(message, session, "running"), needs)
        assert abs(needs - asked) <= 2
        assert runs < idle_behind(take, asked)


@shows("ACP-ENUM-201")
def test_kinds_statuses_and_priorities_are_known(subject: Subject) -> None:
    for update in observed(subject, "tool_call_update"):
        assert (update.get("kind") or "other") in KINDS
        assert (update.get("status") or "pending") in STATUSES
    for update in observed(subject, "plan_update"):
        for entry in update["plan"]["entries"]:
            assert entry["priority"] in {"high", "medium", "low"}
            assert entry["status"] in {"pending", "in_progress", "completed", "cancelled"}


@shows("ACP-ENUM-202")
def test_updates_states_and_content_are_known(subject: Subject) -> None:
    calls = [call for take in every_method(subject) for call in take.calls("session/update")]
    assert {call["params"]["update"]["sessionUpdate"] for call in calls} <= UPDATES
    assert {update["state"] for update in observed(subject, "state_update")} <= {"running", "requires_action", "idle"}
    chunks = {update["content"]["type"] for update in observed(subject, *CHUNKS)}
    assert chunks <= {"text", "image", "audio", "resource_link", "resource"}
    shown = {update["content"]["type"] for update in observed(subject, "tool_call_content_chunk")}
    assert shown == ({"content", "diff", "terminal"} if subject.is_full else set())


@shows("ACP-ENUM-203")
def test_an_outcome_in_the_words_of_the_client_does_no_harm(subject: Subject) -> None:
    take = subject.take(scenes.strange_outcome)
    assert stop_reason(take, take["prompt"]) == "end_turn"
    assert take["alive"]


# --- the rest


@shows("ACP-EXT-001")
def test_an_unknown_extension_request_is_answered(subject: Subject) -> None:
    assert subject.take(scenes.strange_requests).error(scenes.IDS[0])["code"] == -32601


@shows("ACP-EXT-202")
def test_capabilities_beside_the_protocol_stand_in_the_metadata(subject: Subject) -> None:
    capabilities = subject.take(scenes.meet_able)["initialized"]["capabilities"]
    assert set(capabilities) <= {"session", "auth", "_meta"}
    assert capabilities.get("_meta") == ({"example.com/extras": {"level": 2}} if subject.is_full else None)


@shows("ACP-EXT-203")
def test_what_a_protocol_notification_that_nobody_knows_does(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(scenes.strange_requests)
    record_property("ignored", take["alive"])
    assert take["alive"]


def metadata(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "_meta":
                yield inner
            yield from metadata(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from metadata(inner)


@shows("ACP-META-201")
def test_all_metadata_are_objects(subject: Subject) -> None:
    found = [each for take in every_method(subject) for message in take.messages() for each in metadata(message)]
    assert found or not subject.is_full
    assert all(isinstance(each, dict) or each is None for each in found)


@shows("ACP-ERROR-001")
def test_the_message_of_an_error_is_one_line(subject: Subject) -> None:
    takes = [subject.take(scene) for scene in (scenes.strange_requests, scenes.bad_lines, scenes.unknown_session)]
    errors = [answer["error"] for take in takes for answer in take.answers() if "error" in answer]
    assert errors
    for error in errors:
        assert error["message"].strip()
        assert len(error["message"].splitlines()) == 1


@shows("ACP-SHUTDOWN-001")
def test_the_process_ends_when_its_stdin_is_closed(subject: Subject) -> None:
    for take in plain_conversation(subject):
        assert (take.record.ended_by, take.record.status) == ("closed stdin", 0)


@shows("ACP-STDERR-001")
def test_what_is_said_on_stderr(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(scenes.turns)
    record_property("stderr_bytes", len(take.record.stderr))
    assert take["alive"]


@shows("ACP-INFO-PARSE-001")
def test_what_happens_after_a_line_that_is_no_json(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(scenes.bad_lines)
    for name in ("no JSON", "half an object", "no UTF-8"):
        record_property(name, take["reactions"][name])
    assert take["alive"]


@shows("ACP-INFO-INVALIDREQ-001")
def test_what_happens_after_json_that_is_no_json_rpc(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(scenes.bad_lines)
    for name in ("no JSON-RPC", "a number", "no version"):
        record_property(name, take["reactions"][name])
    assert take["alive"]
