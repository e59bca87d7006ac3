"""Whether a client lived with what was said: one judge for each burden, the same for all of them."""

from __future__ import annotations

from accord.check.case import Case, Played, Unseen
from accord.check.client.part import ClientGone
from accord.check.client.parts.tolerance import BURDENS, Burden
from accord.check.judge import judge

__all__: list[str] = []


def _add(burden: Burden) -> None:
    def lived_with_it(case: Case) -> None:
        if burden.when == "after":
            _left_in_peace(case, case.begun(burden.name))
        case.step(burden.name)

    lived_with_it.__name__ = f"lived_with_{burden.name}"
    judge(burden.rule, steps=(burden.name,), editions=burden.editions)(lived_with_it)


def _left_in_peace(case: Case, played: Played) -> None:
    """Who ends when a turn has ended, as it does at other times, did not break at what came then.

    Raises:
        Unseen: It is so.
    """
    if isinstance(played.failure, ClientGone):
        statuses = {
            record.entries is played.entries: record.status for record in case.records if _is_plain(record.name)
        }
        if statuses.get(True) in {0, statuses.get(False, 0)}:
            raise Unseen("the client ended when its turn had ended")


def _is_plain(name: str) -> bool:
    return not name.endswith("strange")


for _each in BURDENS:
    _add(_each)


@judge("ACCORD-CLIENT-UPDATE-004", steps=())
def updates_may_come_before_the_answer_that_names_their_session(case: Case) -> None:
    case.step("early")
