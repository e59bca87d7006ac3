"""Elicitation in v2: forms and addresses, each in exactly one scope."""

from typing import Any, assert_never

from accord.errors import InvalidParams, LocalProtocolError
from accord.protocol import v2
from accord.protocol.codec import Codec, Misfit
from accord.protocol.model import UNSET, Unknown
from accord.session.ask import ElicitationDone, Elicited, ElicitForm, ElicitUrl
from accord.session.presence import given, told
from accord.session.unheard import payload_of

__all__ = [
    "elicit_in",
    "elicitation_done_in",
    "elicitation_done_out",
    "elicited_in",
    "elicited_out",
    "form_out",
    "url_out",
]


def form_out(ask: ElicitForm) -> v2.ElicitationFormMode:
    """A form.

    Raises:
        LocalProtocolError: Not exactly one scope, or a schema that is no form.
    """
    return v2.ElicitationFormMode(ask.message, _schema_out(ask.schema), meta=ask.meta or UNSET, **_scope_out(ask))


def url_out(ask: ElicitUrl) -> v2.ElicitationUrlMode:
    """An address.

    Raises:
        LocalProtocolError: Not exactly one scope.
    """
    return v2.ElicitationUrlMode(ask.message, ask.elicitation_id, ask.url, meta=ask.meta or UNSET, **_scope_out(ask))


def _schema_out(schema: dict[str, Any]) -> v2.ElicitationSchema:
    try:
        typed: v2.ElicitationSchema = Codec().convert(
            v2.ElicitationSchema, {"type": "object", "properties": {}, **schema}
        )
    except Misfit as misfit:
        field = f"requestedSchema.{misfit.field}"
        raise LocalProtocolError(
            f"the schema is no form that v2 can ask for: {misfit}", field=field, expected=misfit.expected
        ) from misfit
    return typed


def _scope_out(ask: ElicitForm | ElicitUrl) -> dict[str, Any]:
    if ask.session_id is not None and ask.request_id is None:
        return {"session_id": ask.session_id, "tool_call_id": given(ask.tool_id)}
    if ask.request_id is not None and ask.session_id is None and ask.tool_id is None:
        return {"request_id": ask.request_id}
    raise LocalProtocolError(
        "a question belongs to a session or one of its tool calls, or else to a request",
        field="sessionId",
        expected="exactly one scope",
    )


def elicit_in(params: v2.CreateElicitationRequest) -> ElicitForm | ElicitUrl:
    """Either question, whichever it is: one method asks both.

    Raises:
        InvalidParams: It is neither (v2 rule 77).
    """
    match params:
        case v2.ElicitationFormMode():
            return ElicitForm(params.message, payload_of(params.requested_schema), **_scope_in(params))
        case v2.ElicitationUrlMode():
            return ElicitUrl(params.message, params.elicitation_id, params.url, **_scope_in(params))
        case _:
            raise InvalidParams(data={"field": "mode", "expected": "form or url"})


def _scope_in(params: v2.ElicitationFormMode | v2.ElicitationUrlMode) -> dict[str, Any]:
    return {
        "session_id": told(params.session_id),
        "tool_id": told(params.tool_call_id),
        "request_id": told(params.request_id),
        "meta": params.meta or None,
    }


def elicited_out(answer: Elicited) -> v2.CreateElicitationResponse:
    """What the user did."""
    meta = answer.meta or UNSET
    match answer.action:
        case "accept":
            return v2.ElicitationAcceptAction(given(answer.content), meta)
        case "decline":
            return v2.ElicitationDeclineAction(meta)
        case "cancel":
            return v2.ElicitationCancelAction(meta)
        case _:
            assert_never(answer.action)


def elicited_in(result: v2.CreateElicitationResponse, _: ElicitForm | ElicitUrl) -> Elicited:
    """What the user did. v2 rule 78: what has no name here is a `cancel`."""
    match result:
        case v2.ElicitationAcceptAction():
            return Elicited("accept", told(result.content), result.meta or None)
        case v2.ElicitationDeclineAction():
            return Elicited("decline", meta=result.meta or None)
        case v2.ElicitationCancelAction():
            return Elicited("cancel", meta=result.meta or None)
        case Unknown():
            meta = result.payload.get("_meta")
            return Elicited("cancel", meta=meta if isinstance(meta, dict) and meta else None)
        case _:
            assert_never(result)


def elicitation_done_out(ask: ElicitationDone) -> v2.CompleteElicitationNotification:
    """It is finished."""
    return v2.CompleteElicitationNotification(ask.elicitation_id, ask.meta or UNSET)


def elicitation_done_in(params: v2.CompleteElicitationNotification) -> ElicitationDone:
    """It is finished."""
    return ElicitationDone(params.elicitation_id, params.meta or None)
