"""The start of every reference agent in v2: ids, the handshake, the state checks, the login."""

from __future__ import annotations

from typing import Any

from tests.check.faults.reference.raw import (
    AUTH_REQUIRED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    NO_METHOD,
    NO_VERSION,
    RawPeer,
    Refused,
)

__all__ = ["HandshakeV2"]


class HandshakeV2(RawPeer):
    """Speaks version 2, and knows how to say that it has a version 1."""

    versions: tuple[int, ...] = (1, 2)
    name = "plain"
    methods: frozenset[str] = frozenset({"initialize", "auth/login", "auth/logout"})
    """What can be asked of it; `auth/…` only where there is a way to log in."""
    in_background = frozenset()

    def __init__(self) -> None:
        super().__init__()
        self.version = 0
        """What was agreed on; 0 before that."""
        self.client: dict[str, Any] = {}
        """What the client can do."""
        self.is_fixed = False
        """Whether the handshake cannot be repeated any more."""
        self.is_logged_in = True

    # --- requests in general

    async def take_request(self, message: dict[str, Any]) -> None:
        """Only strings and integers are ids."""
        if self.is_id(message["id"]):
            await super().take_request(message)
        else:
            self.refuse(None, INVALID_REQUEST, "Invalid request")

    def is_id(self, id_: Any) -> bool:
        """Whether a request may have this id."""
        return isinstance(id_, (str, int)) and not isinstance(id_, bool)

    async def perform(self, id_: Any, method: str, params: Any) -> Any:
        if method != "initialize":
            self.check_order()
        self.check_method(method)
        if not isinstance(params, dict):
            raise Refused(INVALID_PARAMS, "Invalid params", {"field": "params", "expected": "an object"})
        return await super().perform(id_, method, params)

    def check_order(self) -> None:
        """Whether other requests than the handshake are in order."""
        if not self.version:
            raise Refused(INVALID_REQUEST, "Initialize first")
        self.is_fixed = True

    def check_method(self, method: str) -> None:
        """Whether there is such a method."""
        if method not in self.methods or (method.startswith("auth/") and not self.auth_methods()):
            raise Refused(NO_METHOD, "Method not found", {"method": method})

    async def take_notification(self, method: str, params: Any) -> None:
        """Before the handshake, and where something is wrong with one, it is dropped."""
        if self.version and isinstance(params, dict) and method in {"session/cancel", "$/cancel_request"}:
            await super().take_notification(method, params)

    # --- the handshake

    async def on_initialize(self, params: dict[str, Any]) -> Any:
        """The highest version that both have."""
        asked = params.get("protocolVersion")
        if not isinstance(asked, int) or isinstance(asked, bool):
            raise Refused(INVALID_PARAMS, "Invalid params", {"field": "protocolVersion", "expected": "an integer"})
        self.check_repetition(asked)
        version = self.choose_version(asked)
        self.check_client(asked, params)
        self.version = version
        capabilities = params.get("capabilities")
        self.client = capabilities if isinstance(capabilities, dict) else {}
        return self.handshake_result() if version != 1 else self.handshake_result_v1()

    def check_repetition(self, asked: int) -> None:
        """A handshake may be repeated until something else was asked, and never downwards."""
        if self.is_fixed or (self.version and asked < self.version):
            raise Refused(INVALID_REQUEST, "This handshake cannot be repeated")

    def choose_version(self, asked: int) -> int:
        """The version that is spoken with who asks for one."""
        fits = [version for version in self.versions if version <= asked]
        if not fits:
            data = {"requested": asked, "supported": list(self.versions)}
            raise Refused(NO_VERSION, "Unsupported protocol version", data)
        return max(fits)

    def check_client(self, asked: int, params: dict[str, Any]) -> None:
        """At exactly our version a client has to say who it is."""
        info = params.get("info")
        if asked != max(self.versions) or (isinstance(info, dict) and {"name", "version"} <= info.keys()):
            return
        raise Refused(INVALID_PARAMS, "Invalid params", {"field": "info", "expected": "a name and a version"})

    def handshake_result(self) -> Any:
        result = {"protocolVersion": self.version, "info": self.info(), "capabilities": self.capabilities()}
        methods = self.auth_methods()
        return {**result, "authMethods": methods} if methods else result

    def handshake_result_v1(self) -> Any:
        """The same in the words of version 1."""
        return {"protocolVersion": 1, "agentInfo": self.info(), "agentCapabilities": {}}

    def info(self) -> Any:
        return {"name": self.name, "version": "1.0"}

    def capabilities(self) -> Any:
        return {"session": self.session_capabilities()}

    def session_capabilities(self) -> Any:
        return {}

    # --- logging in

    def auth_methods(self) -> list[Any]:
        """The ways to log in that this client can use."""
        return []

    def check_login(self) -> None:
        """Whether somebody may work with us."""
        if self.auth_methods() and not self.is_logged_in:
            raise Refused(AUTH_REQUIRED, "Authentication required")

    async def on_auth_login(self, params: dict[str, Any]) -> Any:
        """Log in, by a method that the protocol can do."""
        known = [each["methodId"] for each in self.auth_methods() if each.get("type") == "agent"]
        if params.get("methodId") not in known:
            raise Refused(INVALID_PARAMS, "Invalid params", {"field": "methodId", "expected": "a way to log in"})
        self.is_logged_in = True
        return {}

    async def on_auth_logout(self, _params: dict[str, Any]) -> Any:
        self.is_logged_in = False
        return {}
