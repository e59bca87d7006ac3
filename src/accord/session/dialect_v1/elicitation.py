"""Questions to the user in v1: a form, or an address; one method for both."""

from typing import Any, assert_never

from accord.errors import InvalidParams, LocalProtocolError
from accord.protocol import v1
from accord.protocol.codec import Codec, Misfit
from accord.protocol.model import UNSET
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


def form_out(ask: ElicitForm) -> v1.ElicitationFormMode:
    """A form.

    Raises:
        LocalProtocolError: The schema is not one of a form, or the scope is not exactly one.
    """
    try:
        schema = Codec().convert(v1.ElicitationSchema, ask.schema)
    except Misfit as misfit:
        field = f"schema.{misfit.field}" if misfit.field else "schema"
        raise LocalProtocolError("not the schema of a form", field=field, expected=misfit.expected) from None
    return v1.ElicitationFormMode(ask.message, schema, **_scope_out(ask))


def url_out(ask: ElicitUrl) -> v1.ElicitationUrlMode:
    """An address.

    Raises:
        LocalProtocolError: The scope is not exactly one.
    """
    return v1.ElicitationUrlMode(ask.message, ask.elicitation_id, ask.url, **_scope_out(ask))


def _scope_out(ask: ElicitForm | ElicitUrl) -> dict[str, Any]:
    of_session, of_request = ask.session_id is not None, ask.request_id is not None
    if of_session == of_request or (of_request and ask.tool_id is not None):
        raise LocalProtocolError(
            "a question belongs to a session or to a request", field="session_id", expected="exactly one of the two"
        )
    scope = {"session_id": ask.session_id, "tool_call_id": ask.tool_id, "request_id": ask.request_id}
    return {**{name: given(value) for name, value in scope.items()}, "meta": ask.meta or UNSET}


def elicit_in(params: v1.CreateElicitationRequest) -> ElicitForm | ElicitUrl:
    """A form or an address, whichever it is.

    Raises:
        InvalidParams: It is neither; v1 rule 57.
    """
    match params:
        case v1.ElicitationFormMode():
            schema = {"type": "object", "properties": {}, **payload_of(params.requested_schema)}
            return ElicitForm(params.message, schema, **_scope_in(params))
        case v1.ElicitationUrlMode():
            return ElicitUrl(params.message, params.elicitation_id, params.url, **_scope_in(params))
        case _:
            raise InvalidParams(data={"field": "mode", "expected": "form or url"})


def _scope_in(params: v1.ElicitationFormMode | v1.ElicitationUrlMode) -> dict[str, Any]:
    scope = {"session_id": params.session_id, "tool_id": params.tool_call_id, "request_id": params.request_id}
    return {**{name: told(value) for name, value in scope.items()}, "meta": params.meta or None}


def elicited_out(answer: Elicited) -> v1.CreateElicitationResponse:
    """What the user did."""
    meta = answer.meta or UNSET
    match answer.action:
        case "accept":
            return v1.ElicitationAcceptAction(given(answer.content), meta)
        case "decline":
            return v1.ElicitationDeclineAction(meta)
        case "cancel":
            return v1.ElicitationCancelAction(meta)
        case _:
            assert_never(answer.action)


def elicited_in(result: v1.CreateElicitationResponse, _: object) -> Elicited:
    """What the user did; what nobody knows counts as nothing done."""
    match result:
        case v1.ElicitationAcceptAction():
            return Elicited("accept", told(result.content), result.meta or None)
        case v1.ElicitationDeclineAction():
            return Elicited("decline", meta=result.meta or None)
        case v1.ElicitationCancelAction():
            return Elicited("cancel", meta=result.meta or None)
        case _:
            return Elicited("cancel")


def elicitation_done_out(ask: ElicitationDone) -> v1.CompleteElicitationNotification:
    """What was begun at an address is finished."""
    return v1.CompleteElicitationNotification(ask.elicitation_id, ask.meta or UNSET)


def elicitation_done_in(params: v1.CompleteElicitationNotification) -> ElicitationDone:
    """What was begun at an address is finished."""
    return ElicitationDone(params.elicitation_id, params.meta or None)
