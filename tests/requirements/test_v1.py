"""v1, rule by rule; `rules.py` has the sentences."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.requirements import scenes
from tests.requirements.rules import shows
from tests.requirements.shapes import misfits, strange_keys
from tests.requirements.stage import Subject, Take

# A second judge of the same agents, by other means: `tests/check/test_own.py` judges them every day.
pytestmark = pytest.mark.long

EDITION = "v1"

STOP_REASONS = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}
HISTORY = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan")

Recorder = Any  # pytest has no name for the type of its `record_property`


def plain_conversation(subject: Subject) -> list[Take]:
    """What every agent can be asked to do, whatever it advertises."""
    return [subject.take(scene) for scene in (scenes.sessions, scenes.strange_requests, scenes.turns, scenes.cancel)]


def every_method(subject: Subject) -> list[Take]:
    """All of v1, as far as the agent serves it: both of ours keep their sessions."""
    more = (scenes.load, scenes.resume, scenes.listing, scenes.deleting, scenes.closing, scenes.options)
    return [*plain_conversation(subject), subject.take(scenes.meet_able), *(subject.take(scene) for scene in more)]


# --- lines and messages


@shows("ACP-TRANSPORT-001")
def test_every_line_is_one_message(subject: Subject) -> None:
    for take in (*plain_conversation(subject), subject.take(scenes.bad_lines)):
        assert take.record.unended == b""
        for entry in take.heard:
            assert isinstance(entry.message, dict), entry.raw
            assert entry.message["jsonrpc"] == "2.0"
            assert "method" in entry.message or "id" in entry.message


@shows("ACP-TRANSPORT-002")
def test_stdout_is_utf_8(subject: Subject) -> None:
    for take in plain_conversation(subject):
        assert all(entry.raw.decode("utf-8") for entry in take.heard)
    said = b"".join(entry.raw for entry in subject.take(scenes.turns).heard)
    # By itself or escaped: it is JSON either way.
    assert "🎼".encode() in said or json.dumps("🎼").strip('"').encode() in said


@shows("ACP-JSONRPC-001")
def test_an_answer_has_the_id_of_its_request(subject: Subject) -> None:
    take = subject.take(scenes.strange_requests)
    for id_ in scenes.IDS:
        assert take.answer(id_)


@shows("ACP-JSONRPC-002")
def test_an_answer_is_a_result_or_an_error(subject: Subject) -> None:
    for take in (*plain_conversation(subject), subject.take(scenes.bad_lines)):
        for answer in take.answers():
            assert ("result" in answer) != ("error" in answer)
            if "error" in answer:
                assert type(answer["error"]["code"]) is int
                assert type(answer["error"]["message"]) is str


@shows("ACP-JSONRPC-003")
def test_a_notification_is_not_answered(subject: Subject) -> None:
    take = subject.take(scenes.strange_requests)
    asked = [entry.message["id"] for entry in take.record.entries if entry.sent and "id" in entry.message]
    assert len(take.answers()) == len(asked)
    assert {json.dumps(answer["id"]) for answer in take.answers()} == {json.dumps(id_) for id_ in asked}


@shows("ACP-JSONRPC-004")
def test_an_unknown_method_is_not_found(subject: Subject) -> None:
    take = subject.take(scenes.strange_requests)
    assert take.error(take["unknown"])["code"] == -32601


@shows("ACP-JSONRPC-005")
def test_a_bad_request_leaves_the_connection_working(subject: Subject) -> None:
    take = subject.take(scenes.strange_requests)
    assert [take.error(wrong)["code"] for wrong in take["wrong"]] == [-32602, -32602]
    assert take["after"]
    assert take["alive"]


# --- the handshake


@shows("ACP-INIT-001", "ACP-INIT-002")
def test_the_handshake_succeeds_with_version_one(subject: Subject) -> None:
    take = subject.take(scenes.sessions)
    version = take.result(take["initialize"])["protocolVersion"]
    assert (type(version), version) == (int, 1)
    assert misfits(take) == []


@shows("ACP-INIT-003")
def test_a_version_from_the_far_future_is_not_echoed(subject: Subject) -> None:
    take, plain = subject.take(scenes.oversized_version), subject.take(scenes.sessions)
    version = take.result(take["probe"])["protocolVersion"]
    assert plain.result(plain["initialize"])["protocolVersion"] <= version < 65535


@shows("ACP-INIT-004")
def test_the_agent_tells_its_name_and_version(subject: Subject) -> None:
    take = subject.take(scenes.sessions)
    info = take.result(take["initialize"])["agentInfo"]
    assert (info["name"], info["version"]) == (subject.name, "1.0")


@shows("ACP-SCHEMA-001")
def test_whatever_is_said_fits_the_schema(subject: Subject) -> None:
    for take in every_method(subject):
        assert misfits(take) == []


@shows("ACP-SCHEMA-002")
def test_nothing_has_keys_that_the_schema_does_not_name(subject: Subject) -> None:
    for take in every_method(subject):
        assert strange_keys(take) == []


@shows("ACP-SCHEMA-002")
def test_the_words_of_2025_are_said_only_by_who_wants_them(subject: Subject) -> None:
    # The one key that v1 does not name any more; an author asks for it by `offer_session_models`.
    take = subject.take(scenes.sessions, FULL_AGENT_WORDS="2025")
    assert ("models" in take.result(take["new"][0])) == subject.is_full
    take = subject.take(scenes.sessions)
    assert "models" not in take.result(take["new"][0])


# --- sessions and turns


@shows("ACP-SESSION-001")
def test_a_session_has_an_id(subject: Subject) -> None:
    take = subject.take(scenes.sessions)
    assert take.result(take["new"][0])["sessionId"]


@shows("ACP-SESSION-002")
def test_two_sessions_have_two_ids(subject: Subject) -> None:
    take = subject.take(scenes.sessions)
    assert len({take.result(new)["sessionId"] for new in take["new"]}) == 2


@shows("ACP-PROMPT-001")
def test_a_prompt_ends_with_a_known_stop_reason(subject: Subject) -> None:
    take = subject.take(scenes.turns)
    assert take.result(take["words"])["stopReason"] in STOP_REASONS


@shows("ACP-PROMPT-002")
def test_the_updates_of_a_turn_are_those_of_its_session(subject: Subject) -> None:
    take = subject.take(scenes.turns)
    updates = take.calls("session/update")
    assert updates
    assert {update["params"]["sessionId"] for update in updates} == {take["session"]}
    assert misfits(take) == []


@shows("ACP-PROMPT-003")
def test_a_prompt_may_hold_a_link(subject: Subject) -> None:
    take = subject.take(scenes.turns)
    assert take.result(take["link"])["stopReason"] == "end_turn"


@shows("ACP-META-001")
def test_a_prompt_may_carry_metadata(subject: Subject) -> None:
    take = subject.take(scenes.turns)
    assert take.result(take["meta"])["stopReason"] == "end_turn"


@shows("ACP-CANCEL-001")
def test_a_cancelled_prompt_succeeds_with_cancelled(subject: Subject) -> None:
    take = subject.take(scenes.cancel)
    assert take.result(take["prompt"])["stopReason"] == "cancelled"
    assert take.place_of_answer(take["prompt"]) > take["cancel"]


@shows("ACP-CANCEL-002")
def test_nothing_is_told_behind_the_answer_to_a_cancelled_prompt(subject: Subject) -> None:
    take = subject.take(scenes.cancel)
    assert take["alive"]
    assert take.updates(take["session"], since=take.place_of_answer(take["prompt"])) == []


# --- sessions from before


def loads(subject: Subject) -> list[Take]:
    return [subject.take(scenes.load), subject.take(scenes.load_after_restart, after=scenes.keep)]


def resumes(subject: Subject) -> list[Take]:
    return [subject.take(scenes.resume), subject.take(scenes.resume_after_restart, after=scenes.keep)]


@shows("ACP-LOAD-001")
def test_a_session_can_be_loaded(subject: Subject) -> None:
    for take in loads(subject):
        assert isinstance(take.result(take["load"]), dict)
        assert misfits(take) == []
    after_restart = loads(subject)[-1]
    assert isinstance(after_restart.result(after_restart["empty"]), dict)


@shows("ACP-LOAD-002")
def test_a_loaded_session_is_replayed_before_the_answer(subject: Subject) -> None:
    for take in loads(subject):
        asked, answered = take.place_of_request(take["load"]), take.place_of_answer(take["load"])
        kinds = [update["sessionUpdate"] for update in take.updates(take["session"], since=asked, before=answered)]
        assert "user_message_chunk" in kinds
        assert "agent_message_chunk" in kinds
        assert take["alive"]
        assert take.updates(take["session"], since=answered) == []


@shows("ACP-LOAD-003")
def test_the_answer_to_a_load_is_an_object(subject: Subject) -> None:
    for take in loads(subject):
        assert isinstance(take.result(take["load"]), dict)
        assert subject.is_full or take.result(take["load"]) == {}


@shows("ACP-RESUME-001")
def test_a_session_can_be_resumed(subject: Subject) -> None:
    for take in resumes(subject):
        assert isinstance(take.result(take["plain"]), dict)
    after_restart = resumes(subject)[-1]
    assert isinstance(after_restart.result(after_restart["empty"]), dict)


@shows("ACP-RESUME-002")
def test_resuming_shows_no_history(subject: Subject) -> None:
    for take in resumes(subject):
        assert take["alive"]
        assert take.updates(take["session"], *HISTORY, since=take.place_of_request(take["plain"])) == []


@shows("ACP-LIST-001")
def test_sessions_can_be_listed(subject: Subject) -> None:
    take = subject.take(scenes.listing)
    assert {each["sessionId"] for each in take.result(take["all"])["sessions"]} == {take["here"], take["there"]}


@shows("ACP-LIST-002")
def test_a_folder_without_sessions_has_an_empty_list(subject: Subject) -> None:
    take = subject.take(scenes.listing)
    assert take.result(take["none"])["sessions"] == []
    assert [each["sessionId"] for each in take.result(take["some"])["sessions"]] == [take["there"]]


@shows("ACP-DELETE-001")
def test_a_session_can_be_deleted(subject: Subject) -> None:
    take = subject.take(scenes.deleting)
    assert take.result(take["delete"]) == {}
    assert take["session"] not in [each["sessionId"] for each in take.result(take["list"])["sessions"]]


@shows("ACP-DELETE-002")
def test_deleting_what_is_not_there_succeeds(subject: Subject) -> None:
    take = subject.take(scenes.deleting)
    assert take.result(take["again"]) == take.result(take["unknown"]) == {}


@shows("ACP-CLOSE-001")
def test_an_idle_session_can_be_closed(subject: Subject) -> None:
    take = subject.take(scenes.closing)
    assert take.result(take["idle"]) == {}


@shows("ACP-CLOSE-002")
def test_closing_cancels_the_prompt(subject: Subject) -> None:
    take = subject.take(scenes.closing)
    assert take.result(take["busy"]) == {}
    assert take.result(take["prompt"])["stopReason"] == "cancelled"


@shows("ACP-ADDDIRS-001")
def test_a_session_may_have_a_further_root(subject: Subject) -> None:
    take = subject.take(scenes.additional_directories)
    assert take.result(take["new"])["sessionId"]
    assert take.result(take["prompt"])["stopReason"] == "end_turn"


# --- settings


def selects(options: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [option for option in options if option["type"] == "select"]


def values(option: dict[str, Any]) -> list[str]:
    """What a select can be, in groups or not."""
    return [choice["value"] for each in option["options"] for choice in each.get("options", [each])]


@shows("ACP-MODES-001")
def test_the_current_mode_is_one_that_is_offered(subject: Subject) -> None:
    take = subject.take(scenes.sessions)
    modes = take.result(take["new"][0])["modes"]
    assert modes["currentModeId"] in [mode["id"] for mode in modes["availableModes"]]


@shows("ACP-MODES-002")
def test_a_mode_can_be_set(subject: Subject) -> None:
    take = subject.take(scenes.options)
    assert isinstance(take.result(take["set_mode"]), dict)
    told = take.updates(take["session"], "current_mode_update")
    assert told
    assert all("currentModeId" in update and "modeId" not in update for update in told)
    assert told[-1]["currentModeId"] == take["mode"]


@shows("ACP-CONFIG-001")
def test_the_values_of_options_fit(subject: Subject) -> None:
    for take, new in ((subject.take(scenes.sessions), 0), (subject.take(scenes.options), None)):
        opened = take.result(take["new"] if new is None else take["new"][new])
        assert selects(opened["configOptions"])
        for option in opened["configOptions"]:
            if option["type"] == "boolean":
                assert type(option["currentValue"]) is bool
            else:
                assert option["currentValue"] in values(option)


@shows("ACP-CONFIG-002")
def test_setting_an_option_answers_with_all_of_them(subject: Subject) -> None:
    take = subject.take(scenes.options)
    known = [option["id"] for option in take.result(take["new"])["configOptions"]]
    assert len(take["changes"]) == len(known) == 5
    for id_, value, request in take["changes"]:
        options = {option["id"]: option for option in take.result(request)["configOptions"]}
        assert list(options) == known
        assert options[id_]["currentValue"] == value


@shows("ACP-CONFIG-003")
def test_a_client_that_did_not_ask_for_toggles_gets_none(subject: Subject) -> None:
    for take in plain_conversation(subject):
        assert not any(b'"boolean"' in entry.raw for entry in take.heard)
    able = subject.take(scenes.meet_able)
    assert any(b'"boolean"' in entry.raw for entry in able.heard) == subject.is_full


@shows("ACP-PROMPTCAP-001")
def test_a_prompt_with_an_image_ends(subject: Subject) -> None:
    take = subject.take(scenes.prompt_blocks)
    assert take.result(take["image"])["stopReason"] == "end_turn"


@shows("ACP-PROMPTCAP-002")
def test_a_prompt_with_a_recording_ends(subject: Subject) -> None:
    take = subject.take(scenes.prompt_blocks)
    assert take.result(take["audio"])["stopReason"] == "end_turn"


@shows("ACP-PROMPTCAP-003")
def test_a_prompt_with_an_embedded_resource_ends(subject: Subject) -> None:
    take = subject.take(scenes.prompt_blocks)
    assert take.result(take["resource"])["stopReason"] == "end_turn"


# --- logging in


@shows("ACP-AUTH-001")
def test_ways_to_log_in_have_ids_of_their_own(subject: Subject) -> None:
    methods = subject.take(scenes.meet_able)["initialized"].get("authMethods", [])
    assert len({method["id"] for method in methods}) == len(methods) == (2 if subject.is_full else 0)


@shows("ACP-AUTH-002")
def test_a_terminal_login_is_offered_only_to_who_can(subject: Subject) -> None:
    take = subject.take(scenes.sessions)
    offered = take.result(take["initialize"]).get("authMethods", [])
    assert [method for method in offered if method.get("type") == "terminal"] == []
    offered = subject.take(scenes.meet_able)["initialized"].get("authMethods", [])
    assert len([method for method in offered if method.get("type") == "terminal"]) == int(subject.is_full)


@shows("ACP-AUTH-003")
def test_a_login_lets_sessions_be_made(subject: Subject) -> None:
    take = subject.take(scenes.logging_in, logged_in=False)
    assert take.error(take["before"])["code"] == -32000
    assert take.result(take["login"]) == {}
    assert take.result(take["between"])["sessionId"]


@shows("ACP-AUTH-004")
def test_logging_out_succeeds(subject: Subject) -> None:
    take = subject.take(scenes.logging_in, logged_in=False)
    assert take.result(take["logout"]) == {}
    assert take.error(take["after"])["code"] == -32000


@shows("ACP-AUTH-005")
def test_without_a_way_to_log_in_no_login_is_asked_for(subject: Subject) -> None:
    take = subject.take(scenes.sessions)
    assert take.result(take["initialize"]).get("authMethods") or take.result(take["new"][0])["sessionId"]


# --- what the client offers


def asked_by(subject: Subject, prefix: str) -> tuple[int, int]:
    """How often clients that offer nothing, and one that offers everything, were asked for something."""
    bare = [call for take in plain_conversation(subject) for call in take.calls() if call["method"].startswith(prefix)]
    able = [call for call in subject.take(scenes.meet_able).calls() if call["method"].startswith(prefix)]
    return len(bare), len(able)


@shows("ACP-CLIENTCAP-001")
def test_files_are_asked_for_only_where_they_are_offered(subject: Subject) -> None:
    bare, able = asked_by(subject, "fs/")
    assert bare == 0
    assert bool(able) == subject.is_full


@shows("ACP-CLIENTCAP-002")
def test_terminals_are_asked_for_only_where_they_are_offered(subject: Subject) -> None:
    bare, able = asked_by(subject, "terminal/")
    assert bare == 0
    assert bool(able) == subject.is_full


@shows("ACP-CLIENTCAP-003")
def test_forms_are_shown_only_where_they_are_offered(subject: Subject) -> None:
    bare, able = asked_by(subject, "elicitation/")
    assert bare == 0
    assert bool(able) == subject.is_full


# --- the rest


@shows("ACP-EXT-001")
def test_an_unknown_extension_request_is_answered(subject: Subject) -> None:
    assert subject.take(scenes.strange_requests).error(scenes.IDS[0])["code"] == -32601


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


@shows("ACP-INFO-UNKNOWNSESSION-001")
def test_how_a_prompt_for_an_unknown_session_is_answered(subject: Subject, record_property: Recorder) -> None:
    take = subject.take(scenes.unknown_session)
    record_property("code", take.error(take["prompt"])["code"])
    assert take["alive"]
