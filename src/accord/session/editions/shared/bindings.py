"""Bindings whose fields differ from the wire's by nothing but their names."""

from collections.abc import Callable, Mapping
from typing import Any

from accord.protocol.method import RequestMethod
from accord.protocol.model import UNSET
from accord.session.client_requests import Done
from accord.session.dialect import Binding
from accord.session.unset import or_none, or_unset

__all__ = ["SESSION", "bind", "decoder", "encoder", "names"]

Names = Mapping[str, str]
"""By the core's name of a field: the name in the edition's type."""


def names(*same: str, **renamed: str) -> Names:
    """The fields with one name on both sides, and those that the wire calls otherwise."""
    return {**dict(zip(same, same, strict=True)), **renamed}


SESSION = names("session_id")


def encoder(kind: Any, fields: Names) -> Callable[[Any], Any]:
    """How a value with these fields becomes the edition's `kind`; None is not written."""

    def encode(value: Any) -> Any:
        written = {theirs: or_unset(getattr(value, ours)) for ours, theirs in fields.items()}
        return kind(**written, meta=value.meta or UNSET)

    return encode


def decoder(kind: Any, fields: Names) -> Callable[[Any], Any]:
    """How the edition's value becomes the core's `kind`; what is not written is None."""

    def decode(value: Any) -> Any:
        read = {ours: or_none(getattr(value, theirs)) for ours, theirs in fields.items()}
        return kind(**read, meta=value.meta or None)

    return decode


def bind(
    request: type[Any],
    method: RequestMethod[Any, Any],
    fields: Names,
    *,
    needs: str = "",
) -> Binding:
    """The binding of a request that is its fields and no more, and is answered with nothing but metadata."""
    return Binding(
        request,
        method,
        decoder(request, fields),
        encoder(method.params, fields),
        encoder(method.result, {}),
        _decode_done,
        needs=needs,
    )


def _decode_done(result: Any, _: object) -> Done:
    return Done(result.meta or None)
