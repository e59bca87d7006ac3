"""The conformance tests of the interfaces that users may implement: `Transport` and `Store`."""

from accord.stores import StoreCheckFailed, check_store
from accord.transport.check import TransportCheckFailed, check_transport

__all__ = ["StoreCheckFailed", "TransportCheckFailed", "check_store", "check_transport"]
