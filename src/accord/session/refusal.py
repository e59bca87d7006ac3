"""Recognition of refusals in texts: the name of a permission option, or a typed answer.

An agent chooses the names and ids of its options freely. A person who picks or types a refusal must never allow
anything by it, in any common language, with invisible characters in the word, or with letters of another script that
look the same. Texts that are doubtful count as a refusal.
"""
# ruff: noqa: RUF001 - letters that look alike are the topic

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["means_no", "typed_no"]

MAX_CHARACTERS = 400

# These refuse at any position.
_REFUSING = frozenset(
    word
    for line in (
        "reject rejects rejected rejecting deny denies denied denying decline declines declined declining",
        "refuse refuses refused refusing disallow disallowed forbid forbids forbidden block blocks blocked",
        "prohibit prohibited cancel cancels cancelled canceled abort aborts aborted dismiss dismissed veto nope nah",
        "nein nicht ablehnen verweigern abbrechen verbieten",
        "refuser refuse annuler rechazar denegar cancelar recusar negar rifiuta rifiutare nega annulla",
        "weigeren avvisa afvis nekad odmítnout odmitnout odrzuć odrzuc reddet hayır không tidak tolak",
        "нет отклонить отказать запретить отмена ні όχι לא لا رفض",
    )
    for word in line.split()
)
# These refuse as the first or the last word.
_AT_THE_EDGE = frozenset(
    word
    for line in (
        "no n non nee nej nei nao não ne nie nu ei nem not never dont donot cannot cant wont",
        "stop quit exit skip",
    )
    for word in line.split()
)
# What people type to leave a question; as a name of an option it says nothing.
_TYPED = frozenset(
    word
    for line in (
        "x q c esc escape back close leave false off none nothing neither nevermind noway wait hold nil null negative",
        "niet nay naw nuh hayir khong н не",
    )
    for word in line.split()
)
_TYPED_SIGNS = ("-", "×", "✕", "╳", "^", "\x03", "\x04", "\x1b")
_REPEATED = re.compile(r"(.)\1+")
# Scripts that put no blanks between words, and signs.
_INSIDE = (
    "拒", "否", "不", "禁止", "取消", "取り消", "いいえ", "キャンセル", "아니", "거부", "취소", "नहीं", "ไม่",
    "❌", "✗", "✘", "✖", "🚫", "⛔", "👎",
)  # fmt: skip
# "Yes, and don't ask again": the negation is about asking, not about the action.
_NEGATING = frozenset({"never", "not", "dont", "donot"})
_ASKING = frozenset({"ask", "asking", "prompt", "prompting", "confirm", "remind", "bother", "show", "require", "need"})
_ASKING_DISTANCE = 3

_WORD = re.compile(r"[^\W\d_]+")
_INVISIBLE = frozenset({"Cf", "Mn", "Cc", "Cs", "Co"})
# Capitals and small letters apart: the Greek letters N and n look like different Latin ones.
_CAPITALS = str.maketrans("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧАВЕКМНОРСТУХІЈЅ", "abezhikmnoptyxabekmhopctyxijs")
_SMALL = str.maketrans("аеорсухіјѕһтмквнԛԝοανρτικυχεηոօıɩɡᴏᴄᴇɴᴛʀ", "aeopcyxijshtmkbhqwoavptikyxenoniigocentr")


def means_no(text: str) -> bool:
    """Whether a person would take it for a refusal; "don't ask again" is none."""
    text = text[:MAX_CHARACTERS]
    return any(each in text for each in _INSIDE) or any(map(_refuses, _readings(text)))


def typed_no(text: str) -> bool:
    """Whether a person who types it at a question refuses."""
    # `nooo` is one as well.
    if any(map(means_no, (text, _REPEATED.sub(r"\1", text)))) or text.lstrip().startswith(_TYPED_SIGNS):
        return True
    readings = [word for typed in (text, _REPEATED.sub(r"\1", text)) for word in _readings(typed[:MAX_CHARACTERS])]
    return any(each[:1] and each[0] in _TYPED for each in readings)


def _readings(text: str) -> Iterator[list[str]]:
    visible = "".join(
        each for each in unicodedata.normalize("NFKD", text) if unicodedata.category(each) not in _INVISIBLE
    )
    composed = unicodedata.normalize("NFC", text)
    readings = {each.casefold() for each in (composed, visible, visible.translate(_CAPITALS))}
    readings |= {each.translate(_SMALL) for each in readings}
    return map(_split, readings)


def _split(folded: str) -> list[str]:
    return _WORD.findall(folded.replace("'", "").replace("’", "").replace("do not", "donot"))


def _refuses(split_text: list[str]) -> bool:
    if not split_text:
        return False
    if any(word in _REFUSING for word in split_text):
        return True
    for at, word in enumerate(split_text):
        if word in _NEGATING and not _ASKING & set(split_text[at + 1 : at + 1 + _ASKING_DISTANCE]):
            return True
    return split_text[0] in _AT_THE_EDGE - _NEGATING or split_text[-1] in _AT_THE_EDGE
