"""The identifiers: opaque strings, and the few numbers that name something."""

from typing import TypeAlias

from accord.protocol.model import Int64, UInt16

RequestId: TypeAlias = Int64 | str | None
SessionId: TypeAlias = str
ToolCallId: TypeAlias = str
TerminalId: TypeAlias = str
PermissionOptionId: TypeAlias = str
ElicitationId: TypeAlias = str
ProtocolVersion: TypeAlias = UInt16
AuthMethodId: TypeAlias = str
SessionModeId: TypeAlias = str
SessionConfigId: TypeAlias = str
SessionConfigValueId: TypeAlias = str
SessionConfigGroupId: TypeAlias = str
MessageId: TypeAlias = str
CompactionId: TypeAlias = str
ModelId: TypeAlias = str
