"""The engine's top floor: a connection in any edition, as either side, over any transport.

It knows order, back-pressure, cancellation, tasks and failure; what a tool call looks like it does not.
"""

from accord.connection.connection import Connection
from accord.connection.handlers import Handlers
from accord.connection.inbound import Inbound, current_request
from accord.connection.outbox import Observer

__all__ = ["Connection", "Handlers", "Inbound", "Observer", "current_request"]
