"""Negotiation: every shape of `initialize` and of its answer, as agent and as client, strict and tolerant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from accord.errors import InvalidParams, NegotiationFailed, RequestError, UnsupportedVersion
from accord.protocol.edition import EDITIONS, V1, V2, V2_JUNE, Edition
from accord.protocol.negotiation import NEWEST_VERSION, Selection, select_as_agent, select_as_client
from tests.tables import rows

WHO = {"name": "n", "version": "1"}
# One letter per key: what a client or an agent may say beside the version.
KEYS = {
    "i": ("info", WHO),
    "c": ("capabilities", {}),
    "I": ("clientInfo", WHO),
    "C": ("clientCapabilities", {}),
    "a": ("agentInfo", WHO),
    "A": ("agentCapabilities", {}),
}

NO_VERSIONS: list[Any] = [-1, 65536, 2**64, "1", "2", "", 1.0, 2.0, 1.5, True, False, None, [], {}, [1]]

OFFERS: dict[str, tuple[Edition, ...]] = {
    "v1": (V1,),
    "v2": (V2,),
    "june": (V2_JUNE,),
    "v1 v2": (V1, V2),
    "v1 june": (V1, V2_JUNE),
    "v2 june": (V2, V2_JUNE),
    "all": EDITIONS,
}

either_way = rows("strict", [False, True])


def said(version: Any, letters: str = "") -> dict[str, Any]:
    return {"protocolVersion": version, **dict(KEYS[letter] for letter in letters)}


# --- as agent

# version, shape, and what an agent that speaks all three selects.
ASKED: list[tuple[int, str, Edition]] = [
    # Version 1 and below is v1, whatever stands beside it.
    (0, "", V1),
    (0, "C", V1),
    (0, "ic", V1),
    (1, "", V1),
    (1, "C", V1),
    (1, "CI", V1),
    (1, "ic", V1),
    (1, "icIC", V1),
    # A client that announces its powers as v1 does speaks v1, whatever its number.
    (2, "C", V1),
    (2, "CI", V1),
    (2, "Ci", V1),
    (3, "C", V1),
    (3, "CI", V1),
    (65535, "C", V1),
    # Who introduces itself by `info` speaks the v2 of today.
    (2, "i", V2),
    (2, "ic", V2),
    (2, "iI", V2),
    (2, "icI", V2),
    (2, "icC", V2),
    (3, "i", V2),
    (3, "ic", V2),
    (65535, "ic", V2),
    # Version 2 without `info` is June.
    (2, "I", V2_JUNE),
    (2, "cI", V2_JUNE),
    (2, "cIC", V2_JUNE),
    # Later than 2 without `info`: a v1 client, or one from the future.
    (3, "I", V1),
    (65535, "I", V1),
    (3, "cI", V2),
    (3, "c", V2),
    (3, "cC", V2),
    (3, "cIC", V2),
    (3, "", V2),
    (65535, "", V2),
]


@either_way
@rows(("version", "letters", "edition"), ASKED)
def test_an_agent_that_speaks_all_selects_by_shape(
    version: int, letters: str, edition: Edition, *, strict: bool
) -> None:
    selection = select_as_agent(said(version, letters), EDITIONS, strict=strict)

    assert selection == Selection(edition, edition.version, exact=version <= edition.version)


@rows("letters", ["", "c", "cC"])
def test_version_2_from_a_client_without_a_name_is_june_to_a_tolerant_agent(letters: str) -> None:
    assert select_as_agent(said(2, letters), EDITIONS) == Selection(V2_JUNE, 2)


@rows("letters", ["", "c", "cC"])
@rows("offer", ["june", "v1 june", "v2 june", "all"])
def test_version_2_from_a_client_without_a_name_is_refused_by_a_strict_agent(letters: str, offer: str) -> None:
    answer = select_as_agent(said(2, letters), OFFERS[offer], strict=True)

    assert isinstance(answer, InvalidParams)
    assert answer.field == "info"


@either_way
@rows("offer", OFFERS)
@rows("version", NO_VERSIONS)
def test_what_is_no_version_is_refused(version: Any, offer: str, *, strict: bool) -> None:
    answer = select_as_agent(said(version, "icIC"), OFFERS[offer], strict=strict)

    assert isinstance(answer, InvalidParams)
    assert (answer.code, answer.field) == (-32602, "protocolVersion")
    assert answer.expected


@rows("params", [None, {}, [], [1], 1, "2", True, {"protocolversion": 1}, {"version": 1}])
def test_params_without_a_version_are_refused(params: Any) -> None:
    answer = select_as_agent(params, EDITIONS)

    assert isinstance(answer, InvalidParams)
    assert answer.field == "protocolVersion"


@rows("value", [None, True, "Zed", 1, []])
def test_a_sign_is_a_sign_only_if_it_is_an_object(value: Any) -> None:
    params = {"protocolVersion": 2, "info": value, "clientCapabilities": value, "clientInfo": WHO, "capabilities": {}}

    assert select_as_agent(params, EDITIONS) == Selection(V2_JUNE, 2)


# What an agent that speaks less than all answers: offer, version, shape, and the version it announces.
LESS: list[tuple[str, int, str, Edition]] = [
    # An agent with v1 alone always answers 1.
    *(
        ("v1", version, letters, V1)
        for version in (0, 1, 2, 3, 65535)
        for letters in ("", "C", "CI", "ic", "cI", "icIC")
    ),
    # v2 alone: the highest that is not above what was asked for.
    *(("v2", version, letters, V2) for version in (2, 3, 65535) for letters in ("ic", "icIC", "cI", "C", "")),
    # June alone answers with its latest: its letter has no error for a version it lacks.
    *(
        ("june", version, letters, V2_JUNE)
        for version in (0, 1, 2, 3, 65535)
        for letters in ("", "C", "CI", "ic", "cI")
    ),
    ("v1 v2", 0, "", V1),
    ("v1 v2", 1, "C", V1),
    ("v1 v2", 1, "ic", V1),
    ("v1 v2", 2, "ic", V2),
    ("v1 v2", 2, "CI", V1),
    ("v1 v2", 2, "cI", V2),
    ("v1 v2", 3, "ic", V2),
    ("v1 june", 1, "ic", V1),
    ("v1 june", 2, "cI", V2_JUNE),
    ("v1 june", 2, "ic", V2_JUNE),
    ("v1 june", 3, "ic", V2_JUNE),
    ("v2 june", 2, "ic", V2),
    ("v2 june", 2, "cI", V2_JUNE),
    ("v2 june", 3, "ic", V2),
    ("v2 june", 3, "cI", V2),
]


@rows(("offer", "version", "letters", "edition"), LESS)
def test_an_agent_that_speaks_less_selects_the_best_it_has(
    offer: str, version: int, letters: str, edition: Edition
) -> None:
    selection = select_as_agent(said(version, letters), OFFERS[offer])

    assert selection == Selection(edition, edition.version, exact=version <= edition.version)


@either_way
@rows("offer", ["v2", "v2 june"])
@rows("letters", ["", "C", "CI", "ic", "icIC"])
@rows("version", [0, 1])
def test_an_agent_told_to_speak_v2_alone_has_no_version_for_an_older_client(
    version: int, letters: str, offer: str, *, strict: bool
) -> None:
    answer = select_as_agent(said(version, letters), OFFERS[offer], strict=strict)

    assert isinstance(answer, UnsupportedVersion)
    assert (answer.code, answer.data) == (-32022, {"requested": version, "supported": [2]})
    assert answer.supported == [2]


def test_params_are_read_exactly_at_the_selected_version_and_leniently_above_it() -> None:
    exact = {
        (version, edition.name): selection.exact
        for version in (1, 2, 3)
        for edition in EDITIONS
        if isinstance(selection := select_as_agent(said(version, "ic"), (edition,)), Selection)
    }

    assert exact == {
        (1, "v1"): True,
        (2, "v1"): False,
        (3, "v1"): False,
        (2, "v2"): True,
        (3, "v2"): False,
        (1, "v2_june"): True,
        (2, "v2_june"): True,
        (3, "v2_june"): False,
    }


@either_way
@rows("order", [EDITIONS, EDITIONS[::-1]])
@rows(("version", "letters", "edition"), ASKED)
def test_a_draft_is_selected_where_the_draft_is_offered(
    version: int, letters: str, edition: Edition, order: Sequence[Edition], *, strict: bool
) -> None:
    offered = [offered.draft for offered in order]

    selection = select_as_agent(said(version, letters), offered, strict=strict)

    assert isinstance(selection, Selection)
    assert selection.edition is edition.draft


@either_way
@rows(
    ("offer", "edition"),
    [("v1", V1), ("v2", V2), ("june", V2_JUNE), ("v1 v2", V2), ("v1 june", V2_JUNE), ("v2 june", V2), ("all", V2)],
)
def test_the_superset_request_suits_every_agent(offer: str, edition: Edition, *, strict: bool) -> None:
    selection = select_as_agent(said(2, "icIC"), OFFERS[offer], strict=strict)

    assert isinstance(selection, Selection)
    assert selection.edition is edition


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
names = st.sampled_from(["protocolVersion", *(name for name, _ in KEYS.values())])
anything = json_values | st.dictionaries(names, json_values | st.integers(0, 4))
offers = st.lists(st.sampled_from([*EDITIONS, V1.draft, V2.draft]), min_size=1, max_size=3)


@given(params=anything, offered=offers, strict=st.booleans())
def test_an_agent_has_an_answer_to_everything(params: Any, offered: list[Edition], *, strict: bool) -> None:
    answer = select_as_agent(params, offered, strict=strict)

    if isinstance(answer, Selection):
        assert answer.edition in offered
        assert answer.version == answer.edition.version
    else:
        assert isinstance(answer, RequestError)
        assert answer.code in (-32602, -32022)


# --- as client

# version, shape, and what a client that speaks all three goes on with.
ANSWERED: list[tuple[int, str, Edition]] = [
    (1, "", V1),
    (1, "A", V1),
    (1, "Aa", V1),
    (1, "ic", V1),
    (1, "c", V1),
    (2, "i", V2),
    (2, "ic", V2),
    (2, "iA", V2),
    (2, "icaA", V2),
    (2, "c", V2_JUNE),
    (2, "ca", V2_JUNE),
]

# Numbers that do not fit what is spoken: several agents answer with ours, and then speak v1.
FALSE: list[tuple[int, str]] = [
    (0, ""),
    (0, "A"),
    (0, "ic"),
    (2, ""),
    (2, "a"),
    (2, "A"),
    (2, "Aa"),
    (2, "Ac"),
    (2, "Aac"),
]


@either_way
@rows(("version", "letters", "edition"), ANSWERED)
def test_a_client_that_speaks_all_goes_on_in_the_edition_of_the_answer(
    version: int, letters: str, edition: Edition, *, strict: bool
) -> None:
    assert select_as_client(said(version, letters), EDITIONS, strict=strict) is edition


@rows("spoken", ["all", "v1", "v1 v2", "v1 june"])
@rows(("version", "letters"), FALSE)
def test_a_number_that_is_not_spoken_does_not_mislead_a_tolerant_client(
    version: int, letters: str, spoken: str
) -> None:
    assert select_as_client(said(version, letters), OFFERS[spoken]) is V1


@rows(("version", "letters"), FALSE)
def test_a_number_that_is_not_spoken_is_refused_by_a_strict_client(version: int, letters: str) -> None:
    with pytest.raises(NegotiationFailed) as failure:
        select_as_client(said(version, letters), EDITIONS, strict=True)

    assert failure.value.answered == version


@either_way
@rows("letters", ["", "A", "ic", "c", "icaA"])
@rows("version", [NEWEST_VERSION + 1, 65535])
def test_a_version_that_nobody_here_knows_is_not_guessed_at(version: int, letters: str, *, strict: bool) -> None:
    with pytest.raises(NegotiationFailed) as failure:
        select_as_client(said(version, letters), EDITIONS, strict=strict)

    assert failure.value.answered == version


@either_way
@rows("version", NO_VERSIONS)
def test_an_answer_without_a_version_is_none(version: Any, *, strict: bool) -> None:
    with pytest.raises(NegotiationFailed) as failure:
        select_as_client(said(version, "icaA"), EDITIONS, strict=strict)

    assert failure.value.answered is None


@rows("result", [None, {}, [], 1, "2", True, {"version": 1}])
def test_a_result_of_another_shape_is_no_answer(result: Any) -> None:
    with pytest.raises(NegotiationFailed) as failure:
        select_as_client(result, EDITIONS)

    assert failure.value.answered is None


# spoken, version, shape: what a client that speaks less than all cannot go on with.
REFUSED: list[tuple[str, int, str]] = [
    ("v1", 2, "ic"),
    ("v1", 2, "c"),
    ("v2", 1, "A"),
    ("v2", 1, "ic"),
    ("v2", 2, "A"),
    ("v2", 2, ""),
    ("v2", 2, "c"),
    ("june", 1, "A"),
    ("june", 1, ""),
    ("june", 2, "A"),
    ("june", 2, "ic"),
    ("v1 v2", 2, "c"),
    ("v1 june", 2, "ic"),
    ("v2 june", 1, "A"),
    ("v2 june", 0, ""),
]


@either_way
@rows(("spoken", "version", "letters"), REFUSED)
def test_a_client_refuses_an_edition_that_it_does_not_speak(
    spoken: str, version: int, letters: str, *, strict: bool
) -> None:
    with pytest.raises(NegotiationFailed) as failure:
        select_as_client(said(version, letters), OFFERS[spoken], strict=strict)

    assert failure.value.answered == version


@rows(
    ("version", "said"),
    [(1, "speaks v1 (it answered version 1), this"), (2, "speaks v1 (it answered version 2, in the form of v1), this")],
)
def test_a_refusal_does_not_contradict_itself_where_an_agent_repeats_the_version(version: int, said: str) -> None:
    with pytest.raises(NegotiationFailed) as failure:
        select_as_client({"protocolVersion": version, "agentCapabilities": {}}, OFFERS["v2"])

    assert said in str(failure.value)


@either_way
@rows("letters", ["", "a"])
@rows("spoken", ["june", "v2 june"])
def test_a_bare_answer_is_junes_to_a_client_that_speaks_june_and_not_v1(
    spoken: str, letters: str, *, strict: bool
) -> None:
    # June requires nothing but the version in an answer.
    assert select_as_client(said(2, letters), OFFERS[spoken], strict=strict) is V2_JUNE


@rows(("version", "letters", "edition"), ANSWERED)
def test_a_client_that_speaks_a_draft_goes_on_in_the_draft(version: int, letters: str, edition: Edition) -> None:
    spoken = [edition.draft for edition in EDITIONS]

    assert select_as_client(said(version, letters), spoken) is edition.draft


@given(result=anything, spoken=offers, strict=st.booleans())
def test_a_client_goes_on_in_what_it_speaks_or_not_at_all(result: Any, spoken: list[Edition], *, strict: bool) -> None:
    try:
        edition = select_as_client(result, spoken, strict=strict)
    except NegotiationFailed:
        return
    assert edition in spoken


# --- both

OWN = {"v1": ("CI", "Aa"), "v2": ("ic", "ic"), "v2_june": ("cI", "ca")}
SUPERSET = "icIC"


@either_way
@rows("edition", EDITIONS)
@rows("superset", [False, True])
def test_an_agent_of_one_edition_and_a_client_of_all_agree(edition: Edition, *, superset: bool, strict: bool) -> None:
    asks, answers = OWN[edition.name]

    selection = select_as_agent(said(NEWEST_VERSION, SUPERSET if superset else asks), (edition,), strict=strict)

    assert isinstance(selection, Selection)
    assert select_as_client(said(selection.version, answers), EDITIONS, strict=strict) is selection.edition
