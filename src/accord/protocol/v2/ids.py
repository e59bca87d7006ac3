"""The identifiers: opaque strings, and the few numbers that name something."""

from typing import TypeAlias

from accord.protocol.model import Int64, UInt16

RequestId: TypeAlias = Int64 | str
SessionId: TypeAlias = str
ToolCallId: TypeAlias = str
MediaType: TypeAlias = str
AbsolutePath: TypeAlias = str
TerminalId: TypeAlias = str
PermissionOptionId: TypeAlias = str
ElicitationId: TypeAlias = str
ProtocolVersion: TypeAlias = UInt16
AuthMethodId: TypeAlias = str
SessionConfigId: TypeAlias = str
SessionConfigValueId: TypeAlias = str
SessionConfigGroupId: TypeAlias = str
SessionListCursor: TypeAlias = str
MessageId: TypeAlias = str
PlanId: TypeAlias = str
CompactionId: TypeAlias = str
