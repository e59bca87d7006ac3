"""Prepared answers to an agent's questions, and the record of those questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from accord.client import FormQuestion, PermissionQuestion, UrlQuestion
from accord.errors import AccordError

__all__ = ["Answers", "Question", "UnexpectedQuestion"]

Question: TypeAlias = PermissionQuestion | FormQuestion | UrlQuestion
"""A question of an agent to its user."""


class UnexpectedQuestion(AccordError):
    """The agent asked a question without a prepared answer; `questions` has all of those."""

    def __init__(self, questions: Sequence[Question]) -> None:
        titles = ", ".join(repr(_title(question)) for question in questions)
        super().__init__(f"the agent asked questions without a prepared answer: {titles}")
        self.questions: Sequence[Question] = questions
        """The questions."""


class Answers:
    """A callback for `permission` or `elicit` that gives one answer after the other.

    An answer may be any value that such a callback may return, a function of the question, or an exception to raise. A
    question beyond the last answer is dismissed, and `check` raises.
    """

    def __init__(self, *answers: object) -> None:
        self._left = list(answers)
        self.questions: list[Question] = []
        """All questions, in order."""
        self.unexpected: list[Question] = []
        """The questions for which no answer was left."""

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
        """Check that every question had an answer.

        Raises:
            UnexpectedQuestion: One had none.
        """
        if self.unexpected:
            raise UnexpectedQuestion(self.unexpected)


def answers_of(given: Any) -> Any:
    """A callback unchanged, a series of answers as `Answers`."""
    return Answers(*given) if isinstance(given, Iterable) and not callable(given) else given


def _title(question: Question) -> str:
    return question.title if isinstance(question, PermissionQuestion) else question.message
