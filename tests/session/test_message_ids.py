from __future__ import annotations

from accord.session.editions.shared.encoder import MessageIds


def test_a_message_is_called_by_its_id() -> None:
    names = MessageIds()
    assert [names.of("agent", "m"), names.of("agent", "m")] == ["m", "m"]


def test_an_id_that_another_speaker_has_used_gets_another_name() -> None:
    names = MessageIds()
    assert [names.of("agent", "m"), names.of("thought", "m"), names.of("agent", "m")] == ["m", "thought-m", "m"]


def test_a_message_can_be_given_new_names_again_and_again() -> None:
    names = MessageIds()
    names.of("agent", "m")
    assert [names.renew("agent", "m"), names.renew("agent", "m")] == ["agent-m", "agent-m-2"]
    assert names.of("agent", "m") == "agent-m-2"


def test_chunks_without_an_id_belong_together_until_something_comes_between() -> None:
    names = MessageIds()
    assert [names.unnamed("agent"), names.unnamed("agent")] == ["agent", "agent"]
    assert [names.unnamed("thought"), names.unnamed("agent")] == ["thought", "agent-2"]
    names.pause()
    assert names.unnamed("agent") == "agent-3"
    names.use("agent-4")
    assert names.unnamed("agent") == "agent-5"
    names.of("agent", "m")
    assert names.unnamed("agent") == "agent-6"
