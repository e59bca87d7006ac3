"""Questions to the user: a form or an address, one method for both, each in exactly one scope."""

from typing import Any, assert_never

from accord.errors import InvalidParams, LocalProtocolError
from accord.protocol.codec import Codec, Misfit
from accord.protocol.model import UNSET, Unknown
from accord.session.agent_requests import ElicitationDone, Elicited, ElicitForm, ElicitUrl
from accord.session.dialect import Binding
from accord.session.editions.shared.bindings import decoder, encoder, names
from accord.session.unset import or_none, or_unset, payload_of

__all__ = ["ElicitationCodec"]

DEFAULTS: dict[str, Any] = {"type": "object", "properties": {}}
"""The optional parts of a form's schema."""


class ElicitationCodec:
    def __init__(self, types: Any) -> None:
        self.types = types
        done = names("elicitation_id")
        self.encode_done = encoder(types.CompleteElicitationNotification, done)
        self.decode_done = decoder(ElicitationDone, done)

    def bindings(self) -> tuple[Binding, ...]:
        """A row for either question: both decode either, and the decoded request says which capability it needs."""
        method = self.types.ELICITATION_CREATE
        results = (self.encode_result, self.decode_result)
        return (
            Binding(ElicitForm, method, self.decode, self.encode_form, *results, needs="elicit_form"),
            Binding(ElicitUrl, method, self.decode, self.encode_url, *results, needs="elicit_url"),
        )

    def encode_form(self, request: ElicitForm) -> Any:
        """A form.

        Raises:
            LocalProtocolError: The schema is not one of a form, or the scope is not exactly one.
        """
        given: Any = request.schema
        schema = {**DEFAULTS, **given} if isinstance(given, dict) else given
        try:
            typed = Codec().convert(self.types.ElicitationSchema, schema)
        except Misfit as misfit:
            field = f"schema.{misfit.field}" if misfit.field else "schema"
            raise LocalProtocolError("not the schema of a form", field=field, expected=misfit.expected) from None
        return self.types.ElicitationFormMode(request.message, typed, **_encode_scope(request))

    def encode_url(self, request: ElicitUrl) -> Any:
        """An address.

        Raises:
            LocalProtocolError: The scope is not exactly one.
        """
        return self.types.ElicitationUrlMode(
            request.message, request.elicitation_id, request.url, **_encode_scope(request)
        )

    def decode(self, params: Any) -> ElicitForm | ElicitUrl:
        """A form or an address, whichever it is.

        Raises:
            InvalidParams: It is neither (v1 rule 57, v2 rule 77).
        """
        if isinstance(params, self.types.ElicitationFormMode):
            schema = {**DEFAULTS, **payload_of(params.requested_schema)}
            return ElicitForm(params.message, schema, **_decode_scope(params))
        if isinstance(params, self.types.ElicitationUrlMode):
            return ElicitUrl(params.message, params.elicitation_id, params.url, **_decode_scope(params))
        raise InvalidParams(data={"field": "mode", "expected": "form or url"})

    def encode_result(self, answer: Elicited) -> Any:
        meta = answer.meta or UNSET
        match answer.action:
            case "accept":
                return self.types.ElicitationAcceptAction(or_unset(answer.content), meta)
            case "decline":
                return self.types.ElicitationDeclineAction(meta)
            case "cancel":
                return self.types.ElicitationCancelAction(meta)
            case _:
                assert_never(answer.action)

    def decode_result(self, result: Any, _: object) -> Elicited:
        """The action of the user. v2 rule 78: an action without a name here is a `cancel`."""
        if isinstance(result, Unknown):
            meta = result.payload.get("_meta")
            return Elicited("cancel", meta=meta if isinstance(meta, dict) and meta else None)
        if isinstance(result, self.types.ElicitationAcceptAction):
            return Elicited("accept", or_none(result.content), result.meta or None)
        declined = isinstance(result, self.types.ElicitationDeclineAction)
        return Elicited("decline" if declined else "cancel", meta=result.meta or None)


def _encode_scope(request: ElicitForm | ElicitUrl) -> dict[str, Any]:
    of_session, of_request = request.session_id is not None, request.request_id is not None
    if of_session == of_request or (of_request and request.tool_id is not None):
        raise LocalProtocolError(
            "a question belongs to a session or to a request", field="session_id", expected="exactly one of the two"
        )
    scope = {"session_id": request.session_id, "tool_call_id": request.tool_id, "request_id": request.request_id}
    return {**{name: or_unset(value) for name, value in scope.items()}, "meta": request.meta or UNSET}


def _decode_scope(params: Any) -> dict[str, Any]:
    scope = {"session_id": params.session_id, "tool_id": params.tool_call_id, "request_id": params.request_id}
    return {**{name: or_none(value) for name, value in scope.items()}, "meta": params.meta or None}
