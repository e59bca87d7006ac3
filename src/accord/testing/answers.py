"""Prepared answers to what an agent asks its user, and the questions that they were given to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from accord.client import FormQuestion, PermissionQuestion, UrlQuestion
from accord.errors import AccordError

__all__ = ["Answers", "Question", "UnexpectedQuestion"]

Question: TypeAlias = PermissionQuestion | FormQuestion | UrlQuestion
"""What an agent asks its user."""


class UnexpectedQuestion(AccordError):
    """The agent asked something that the test has no answer for; `questions` has it, and all others like it."""

    def __init__(self, questions: Sequence[Question]) -> None:
        titles = ", ".join(repr(_title(question)) for question in questions)
        super().__init__(f"the agent asked what no answer was prepared for: {titles}")
        self.questions: Sequence[Question] = questions
        """The questions."""


class Answers:
    """A callback for `permission` or `elicit` that gives one answer after the other.

    An answer may be whatever such a callback may return, a function of the question, or an exception to raise. A
    question beyond the last one is dismissed, and `check` says so.
    """

    def __init__(self, *answers: object) -> None:
        self._left = list(answers)
        self.questions: list[Question] = []
        """All that was asked, in order."""
        self.unexpected: list[Question] = []
        """What was asked when no answer was left."""

    def __repr__(self) -> str:
        return f"<answers: {len(self.questions)} given, {len(self._left)} left>"

    def __call__(self, question: Question) -> Any:
        """The next answer."""
        self.questions.append(question)
        if not self._left:
            self.unexpected.append(question)
            return None
        answer = self._left.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer(question) if callable(answer) else answer

    @property
    def left(self) -> int:
        """How many answers are left."""
        return len(self._left)

    @property
    def titles(self) -> list[str]:
        """The titles of the questions so far."""
        return [_title(question) for question in self.questions]

    def check(self) -> None:
        """See that there was an answer to everything.

        Raises:
            UnexpectedQuestion: There was not.
        """
        if self.unexpected:
            raise UnexpectedQuestion(self.unexpected)


def answers_of(given: Any) -> Any:
    """A callback as it is, a series of answers as `Answers`."""
    return Answers(*given) if isinstance(given, Iterable) and not callable(given) else given


def _title(question: Question) -> str:
    return question.title if isinstance(question, PermissionQuestion) else question.message
