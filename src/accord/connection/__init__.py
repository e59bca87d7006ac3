"""Connections: one live link in any edition, as either side, over any transport.

Order, back-pressure, cancellation, tasks and failure are handled here; the meaning of messages belongs to `session`.
"""

from accord.connection.connection import Connection
from accord.connection.handlers import Handlers
from accord.connection.request import current_request
from accord.connection.sender import Observer

__all__ = ["Connection", "Handlers", "Observer", "current_request"]
