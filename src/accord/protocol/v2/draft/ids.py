"""The identifiers: opaque strings, and the few numbers that name something."""

from typing import TypeAlias

McpServerAcpId: TypeAlias = str
McpRequestId: TypeAlias = str
ProviderId: TypeAlias = str
