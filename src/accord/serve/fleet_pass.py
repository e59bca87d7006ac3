"""The pass of a forwarded request: one node of a fleet tells another which principal it has authenticated.

It is one header, signed with the secret that all nodes share. It names the node that it is for and the incarnation of
that node, so no other node and no later process accepts it, and no two clocks are compared. The token of the
client is not sent on. A request that has a pass is never forwarded again.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

import msgspec

from accord.errors import LocalProtocolError
from accord.serve.principals import Principal

__all__ = ["FORWARD_HEADER", "NOT_TRUSTED", "FleetPass", "PassSigner"]

FORWARD_HEADER = "accord-fleet"
MIN_SECRET_CHARACTERS = 32
_VERSION = "1"
_MAX_CHARACTERS = 16 * 1024
# What a node says of another one that answers a pass with 401.
NOT_TRUSTED = "it refuses the pass: its secret is another one, or its version"


class PassRefused(Exception):
    """A pass that is not valid here; the text is for the log."""


class FleetPass(msgspec.Struct, frozen=True, rename="camel"):
    """The facts about a request that one node forwards to another."""

    sender: str
    """The node that forwards it."""
    receiver: str
    incarnation: str
    """Of the receiver: the process for which it is."""
    name: str
    """Of the principal."""
    root: str | None = None
    expires_at: float | None = None

    @property
    def principal(self) -> Principal:
        return Principal(self.name, self.root, self.expires_at)


class PassSigner:
    """Writes and reads the passes of a fleet, with its secret."""

    def __init__(self, secret: str) -> None:
        if len(secret) < MIN_SECRET_CHARACTERS:
            raise LocalProtocolError(
                f"the secret of a fleet has at least {MIN_SECRET_CHARACTERS} characters: "
                "make one with `openssl rand -hex 32`",
                field="fleet_secret",
                expected=f"at least {MIN_SECRET_CHARACTERS} characters",
            )
        # A derived key: its signatures are of no use for anything else that the secret may sign.
        self._key = hashlib.sha256(b"accord fleet pass " + _VERSION.encode() + b"\0" + secret.encode()).digest()

    def __repr__(self) -> str:
        return "<signer of passes>"

    def sign(self, given: FleetPass) -> str:
        """The value of the header."""
        body = base64.urlsafe_b64encode(msgspec.json.encode(given)).decode("ascii")
        return f"{_VERSION}.{body}.{self._mac(body)}"

    def read(self, value: str, receiver: str, incarnation: str) -> FleetPass:
        """The pass in a header.

        Raises:
            PassRefused: It was not signed with this secret, or is for another node, or for an earlier process.
        """
        version, _, rest = value.partition(".")
        body, _, mac = rest.partition(".")
        if version != _VERSION or len(value) > _MAX_CHARACTERS:
            raise PassRefused("the pass has another version: nodes of a fleet must be of versions that go together")
        if not hmac.compare_digest(mac.encode("latin-1", "replace"), self._mac(body).encode()):
            raise PassRefused("the pass is not signed with the secret of this fleet")
        try:
            given = msgspec.json.decode(base64.urlsafe_b64decode(body), type=FleetPass)
        except (msgspec.DecodeError, binascii.Error, ValueError) as error:
            raise PassRefused("the pass cannot be read") from error
        if given.receiver != receiver or given.incarnation != incarnation:
            raise PassRefused(
                f"the pass is for node {given.receiver!r} or an earlier process, and this is {receiver!r}"
            )
        return given

    def _mac(self, body: str) -> str:
        return hmac.new(self._key, body.encode("latin-1", "replace"), hashlib.sha256).hexdigest()
