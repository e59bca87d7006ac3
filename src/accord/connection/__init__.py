"""A connection in any edition, as either side, over any transport.

Order, back-pressure, cancellation, tasks and failure are handled here; what the messages mean is not known.
"""

from accord.connection.connection import Connection
from accord.connection.handlers import Handlers
from accord.connection.request import current_request
from accord.connection.sender import Observer

__all__ = ["Connection", "Handlers", "Observer", "current_request"]
