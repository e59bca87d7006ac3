"""The identifiers: opaque strings, and the few numbers that name something."""

from typing import TypeAlias

from accord.protocol.model import Int64, UInt16

RequestId: TypeAlias = Int64 | str | None
SessionId: TypeAlias = str
ToolCallId: TypeAlias = str
PermissionOptionId: TypeAlias = str
ProtocolVersion: TypeAlias = UInt16
SessionConfigId: TypeAlias = str
SessionConfigValueId: TypeAlias = str
SessionConfigGroupId: TypeAlias = str
MessageId: TypeAlias = str
PlanId: TypeAlias = str
