"""Permission by the config: its three policies as rules that come after all others, and remembered answers on disk.

Each session has one small document of answers, bound to its key, its directory and its agent. A document that was made
for another session key, directory or agent, that a later version wrote, or that holds anything unknown is not used: the
user is asked again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from accord.client import Session
from accord.client.policy import Policy
from accord.client.question import PermissionAnswer, PermissionCallback, PermissionQuestion, called
from accord.config.acp_json import PermissionPolicy
from accord.session.remembered import DocumentError, RememberedAnswer, decode_answers, encode_answers
from accord.session.rules import Rule
from accord.stores.folder import make_private

__all__ = ["AnswerFiles", "agent_identity", "permission_for", "rules_for", "set_aside_old_answers"]

_RULES: dict[PermissionPolicy | None, tuple[Rule, ...]] = {
    "auto-approve": (Rule("allow", "all"),),
    "deny": (Rule("deny", "all"),),
}


def rules_for(policy: PermissionPolicy | None) -> tuple[Rule, ...]:
    """The rules of a policy, which apply where no other rule matches; none for `prompt`, which asks."""
    return _RULES.get(policy, ())


def permission_for(
    policy: PermissionPolicy | None, on_question: PermissionCallback | None = None, **options: Any
) -> Policy:
    """The policy for `accord.connect(permission=...)`; `options` are further ones of `Policy`.

    `auto-approve` allows everything, with a lasting option where the agent offers one; `deny` denies it. `prompt`, the
    default, asks `on_question`; where that is None the answer is no.
    """
    callback = None if on_question is None else _RejectUnanswered(on_question)
    return Policy(rules_for(policy), on_question=callback, prefer_lasting=policy == "auto-approve", **options)


class _RejectUnanswered:
    """A callback that turns a missing answer into a rejection, where the agent offers one."""

    def __init__(self, on_question: PermissionCallback) -> None:
        self._callback = on_question

    async def __call__(self, question: PermissionQuestion) -> PermissionAnswer:
        answer: PermissionAnswer = await called(self._callback, question)
        return question.reject() if answer is None else answer


log = logging.getLogger("accord.config")

MAX_BYTES = 4 * 1024 * 1024
MAX_ANSWERS = 1000


def agent_identity(argv: Sequence[str], environment: Mapping[str, str | None] | None = None) -> tuple[str, ...]:
    """The identity of an agent: the path of its program, and all arguments."""
    path = (environment or {}).get("PATH")
    found = shutil.which(argv[0], path=path)
    return (os.path.abspath(found or argv[0]), *argv[1:])  # noqa: PTH100 - links stay: they distinguish environments


class AnswerFiles:
    """Keeps answers in a folder, for one agent. An answer that cannot be written lasts as long as the process."""

    def __init__(self, folder: Path, agent: Sequence[str]) -> None:
        self._folder = folder
        self._agent = tuple(agent)

    def load(self, session: Session) -> list[RememberedAnswer]:
        """The answers of a session; none where its document cannot be used."""
        path = self._path(session)
        try:
            with path.open("rb") as file:
                document = decode_answers(file.read(MAX_BYTES))
        except FileNotFoundError:
            return []
        except (OSError, DocumentError) as error:
            log.warning("the remembered answers in %s are not used: %s", path, error)
            return []
        bound = (document.session, document.directory, document.agent)
        return list(document.answers) if bound == self._binding(session) else []

    def add(self, session: Session, answer: RememberedAnswer) -> None:
        """Keep one more answer, before the existing ones."""
        path = self._path(session)
        answers = (answer, *(each for each in self.load(session) if each != answer))[:MAX_ANSWERS]
        temporary = path.with_name(f".{secrets.token_hex(8)}.new")
        try:
            document = encode_answers(*self._binding(session), answers)
            make_private(temporary)
            temporary.write_bytes(document)
            temporary.replace(path)
        except (OSError, DocumentError) as error:
            log.warning("an answer could not be written to %s and holds for now alone: %s", path, error)
            with contextlib.suppress(OSError):
                temporary.unlink()

    def _binding(self, session: Session) -> tuple[str, str, tuple[str, ...]]:
        return session.key, os.path.realpath(session.cwd), self._agent

    def _path(self, session: Session) -> Path:
        name = json.dumps(self._binding(session))
        return self._folder / f"{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


def set_aside_old_answers(folder: Path) -> int:
    """Rename the files in which earlier versions kept answers as rules; how many there were.

    They are not taken over: a line break in a command could add rules to them.
    """
    count = 0
    with contextlib.suppress(OSError):
        for path in folder.glob("*.rules"):
            with contextlib.suppress(OSError):
                path.replace(path.with_name(f"{path.name}.old"))
                count += 1
    return count
