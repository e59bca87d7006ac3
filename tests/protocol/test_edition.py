"""The editions as objects: methods by name and side, rules, drafts, and nothing imported too early."""

from __future__ import annotations

import subprocess
import sys
from typing import get_args

import pytest

from accord.protocol.edition import EDITIONS, V1, V2, V2_JUNE, Edition
from accord.protocol.method import NotificationMethod, RequestMethod, Side
from tests.limits import limit
from tests.tables import rows

TABLES = {"v1": V1, "v1 draft": V1.draft, "v2": V2, "v2 draft": V2.draft, "june": V2_JUNE}
SIDES: tuple[Side, ...] = get_args(Side)

every_table = rows("edition", TABLES.values())


def test_the_editions_are_three() -> None:
    assert [(edition.name, edition.version) for edition in EDITIONS] == [("v1", 1), ("v2", 2), ("v2_june", 2)]


# --- the tables


@every_table
def test_every_method_is_found_under_its_name_by_the_side_that_serves_it(edition: Edition) -> None:
    for method in edition.methods:
        find = edition.request if isinstance(method, RequestMethod) else edition.notification
        serving = {side for side in SIDES if find(side, method.name) is method}
        expected = {"agent", "client", "proxy"} if method.side == "both" else {method.side}
        assert serving == expected, method


@every_table
def test_no_row_hides_another(edition: Edition) -> None:
    rows = [(type(method), method.name, method.side) for method in edition.methods]

    assert len(set(rows)) == len(rows)


@every_table
def test_requests_and_notifications_are_not_mixed_up(edition: Edition) -> None:
    assert edition.request("agent", "session/cancel") is None
    assert isinstance(edition.notification("agent", "session/cancel"), NotificationMethod)
    assert edition.notification("agent", "session/prompt") is None
    assert isinstance(edition.request("agent", "session/prompt"), RequestMethod)


@every_table
@rows("name", ["", "initialise", "Initialize", "session/prompt ", "_mine", "$/progress"])
def test_a_name_that_no_edition_has_is_found_nowhere(edition: Edition, name: str) -> None:
    for side in SIDES:
        assert edition.request(side, name) is None
        assert edition.notification(side, name) is None


@every_table
def test_initialize_is_the_request_that_the_agent_serves(edition: Edition) -> None:
    assert edition.initialize.name == "initialize"
    assert edition.initialize is edition.request("agent", "initialize")
    assert edition.request("client", "initialize") is None


# What only some editions have: side, name, and the tables that have it.
PRESENCE = {
    ("agent", "authenticate"): {"v1", "v1 draft", "june"},
    ("agent", "logout"): {"v1", "v1 draft", "june"},
    ("agent", "auth/login"): {"v2", "v2 draft"},
    ("agent", "auth/logout"): {"v2", "v2 draft"},
    ("agent", "auth/status"): {"v1 draft", "v2 draft"},
    ("client", "auth/status_update"): {"v1 draft", "v2 draft"},
    ("agent", "session/new"): set(TABLES),
    ("agent", "session/load"): {"v1", "v1 draft", "june"},
    ("agent", "session/resume"): set(TABLES),
    ("agent", "session/list"): set(TABLES),
    ("agent", "session/delete"): set(TABLES),
    ("agent", "session/close"): set(TABLES),
    ("agent", "session/fork"): {"v1 draft", "v2 draft"},
    ("agent", "session/archive"): {"v1 draft", "v2 draft"},
    ("agent", "session/unarchive"): {"v1 draft", "v2 draft"},
    ("agent", "session/status"): {"v1 draft", "v2 draft"},
    ("agent", "session/set_title"): {"v1 draft", "v2 draft"},
    ("agent", "session/prompt"): set(TABLES),
    ("agent", "session/cancel"): set(TABLES),
    ("agent", "session/set_mode"): {"v1", "v1 draft"},
    ("agent", "session/set_model"): {"v1", "v1 draft"},  # from the 2025 text, which v1 is a superset of
    ("agent", "session/set_config_option"): set(TABLES),
    ("agent", "tool_call/cancel"): {"v2", "v2 draft"},
    ("agent", "terminal/cancel"): {"v2", "v2 draft"},
    ("agent", "providers/list"): {"v1 draft", "v2 draft"},
    ("agent", "providers/set"): {"v1 draft", "v2 draft"},
    ("agent", "providers/disable"): {"v1 draft", "v2 draft"},
    ("client", "session/update"): set(TABLES),
    ("client", "session/request_permission"): set(TABLES),
    ("client", "fs/read_text_file"): {"v1", "v1 draft"},
    ("client", "fs/write_text_file"): {"v1", "v1 draft"},
    ("client", "terminal/create"): {"v1", "v1 draft"},
    ("client", "terminal/output"): {"v1", "v1 draft"},
    ("client", "terminal/wait_for_exit"): {"v1", "v1 draft"},
    ("client", "terminal/kill"): {"v1", "v1 draft"},
    ("client", "terminal/release"): {"v1", "v1 draft"},
    ("client", "elicitation/create"): {"v1", "v1 draft", "v2", "v2 draft"},
    ("client", "elicitation/complete"): {"v1", "v1 draft", "v2", "v2 draft"},
    ("client", "mcp/message"): {"v1 draft", "v2 draft"},
    ("agent", "mcp/message"): {"v1 draft", "v2 draft"},
    ("proxy", "proxy/initialize"): {"v1 draft", "v2 draft"},
    ("proxy", "proxy/successor"): {"v1 draft", "v2 draft"},
    ("agent", "$/cancel_request"): {"v1", "v1 draft", "v2", "v2 draft"},
    ("client", "$/cancel_request"): {"v1", "v1 draft", "v2", "v2 draft"},
}


@rows(("side", "name"), PRESENCE)
def test_a_method_is_in_the_editions_that_have_it_and_in_no_other(side: Side, name: str) -> None:
    having = {
        table
        for table, edition in TABLES.items()
        if edition.request(side, name) is not None or edition.notification(side, name) is not None
    }

    assert having == PRESENCE[side, name]


@every_table
def test_no_edition_has_a_method_that_is_not_in_the_table_above(edition: Edition) -> None:
    names = {method.name for method in edition.methods}

    assert names <= {name for _, name in PRESENCE} | {"initialize"}


# --- rules


@rows(
    ("edition", "null_ids", "batches", "cancels_requests"),
    [(V1, True, False, True), (V2, False, False, True), (V2_JUNE, True, True, False)],
)
def test_an_edition_has_the_rules_of_its_letter(
    edition: Edition, *, null_ids: bool, batches: bool, cancels_requests: bool
) -> None:
    assert (edition.rules.null_ids, edition.rules.batches) == (null_ids, batches)
    assert edition.cancels_requests == cancels_requests
    assert (edition.notification("agent", "$/cancel_request") is not None) == cancels_requests


@rows(("edition", "required"), [(V1, False), (V2, True), (V2_JUNE, False)])
def test_only_v2_requires_who_the_client_is(edition: Edition, *, required: bool) -> None:
    assert edition.requires_info == edition.with_drafts.requires_info == edition.draft.requires_info == required


@rows(("edition", "once"), [(V1, False), (V2, True), (V2_JUNE, False)])
def test_only_v2_refuses_a_repeated_initialize_that_changes_nothing(edition: Edition, *, once: bool) -> None:
    assert edition.initializes_once == edition.with_drafts.initializes_once == edition.draft.initializes_once == once


# --- drafts


@rows("edition", [V1, V2])
def test_a_draft_is_the_same_edition_with_more_methods(edition: Edition) -> None:
    draft = edition.draft

    assert draft is not edition
    assert (draft.name, draft.version, draft.rules) == (edition.name, edition.version, edition.rules)
    assert draft.cancels_requests == edition.cancels_requests
    assert {method.name for method in edition.methods} < {method.name for method in draft.methods}


@every_table
def test_the_draft_of_a_draft_is_itself(edition: Edition) -> None:
    assert edition.draft.draft is edition.draft


@rows("edition", [V1, V2])
def test_with_drafts_no_stable_row_changes_and_new_ones_follow(edition: Edition) -> None:
    stable = edition.methods
    served = edition.with_drafts.methods

    assert served[: len(stable)] == stable
    assert {(method.name, method.side) for method in served} == {
        (method.name, method.side) for method in edition.draft.methods
    }


@rows("edition", [V1, V2])
def test_a_client_reads_what_an_agent_offers_of_the_unstable_text(edition: Edition) -> None:
    as_client = edition.as_client

    assert as_client.initialize is edition.draft.initialize
    assert [method.name for method in as_client.methods] == [method.name for method in edition.with_drafts.methods]


def test_june_has_no_draft_of_its_own() -> None:
    assert V2_JUNE.draft is V2_JUNE


@every_table
def test_an_edition_shows_its_name(edition: Edition) -> None:
    assert edition.name in repr(edition)


@every_table
def test_a_row_shows_its_kind_and_name(edition: Edition) -> None:
    assert repr(edition.request("agent", "session/prompt")) == "<request session/prompt>"
    assert repr(edition.notification("client", "session/update")) == "<notification session/update>"


# --- what is imported, and when


def loaded_after(code: str) -> set[str]:
    """The modules of editions that a fresh interpreter has loaded after some code."""
    show = "\nimport sys\nprint(*[name for name in sys.modules if name.startswith('accord.protocol.v')])"
    done = subprocess.run(
        [sys.executable, "-c", code + show], capture_output=True, text=True, timeout=limit(60), check=True
    )
    return {".".join(name.split(".")[:4]) for name in done.stdout.split()}


@pytest.mark.parametrize("module", ["accord", "accord.protocol.edition", "accord.protocol.negotiation"])
def test_importing_the_editions_imports_no_edition(module: str) -> None:
    assert loaded_after(f"import {module}") == set()


def test_choosing_an_edition_imports_none() -> None:
    code = (
        "from accord.protocol.edition import EDITIONS\n"
        "from accord.protocol.negotiation import select_as_agent\n"
        "select_as_agent({'protocolVersion': 2, 'info': {}}, EDITIONS)\n"
    )

    assert loaded_after(code) == set()


@pytest.mark.parametrize(("name", "package"), [("V1", "v1"), ("V2", "v2"), ("V2_JUNE", "v2_june")])
def test_the_first_look_at_a_table_imports_that_edition_alone(name: str, package: str) -> None:
    loaded = loaded_after(f"from accord.protocol.edition import {name}\n{name}.methods")

    assert {module.split(".")[2] for module in loaded} == {package}
    assert f"accord.protocol.{package}.draft" not in loaded
