"""Servers that break one rule of the transport each; importing the modules fills `SERVER_FAULTS`."""

from __future__ import annotations

from tests.check.faults.server import http, websocket
from tests.check.faults.server.fault import SERVER_FAULTS, SERVERS, ServerFault

__all__ = ["SERVERS", "SERVER_FAULTS", "ServerFault", "http", "websocket"]
