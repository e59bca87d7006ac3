"""Error objects of this edition: the codes it names and the data it defines."""

from typing import Any, TypeAlias

from accord.protocol.model import UNSET, Int32, Wire

ErrorCode: TypeAlias = Int32


class Error(Wire):
    """Failure of a call; data may be anything unless the code defines its shape."""

    code: ErrorCode
    message: str
    data: Any = UNSET
