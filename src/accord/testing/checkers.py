"""The checkers of what others may implement: a way to move texts, a place to keep sessions."""

from accord.stores import StoreCheckFailed, check_store
from accord.transport.check import TransportCheckFailed, check_transport

__all__ = ["StoreCheckFailed", "TransportCheckFailed", "check_store", "check_transport"]
