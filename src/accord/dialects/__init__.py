"""The extension point for dialects: peers that speak something close to ACP, and the plug-ins that translate for them.

A plug-in wraps the transport of a connection, so that everything above it speaks an edition of ACP. `docs/dialects.md`
shows how to write one, with `accord.simse` as its example. The dialects of the editions themselves are not plug-ins;
they are in `accord.session`.
"""

from accord.dialects.plugin import DialectPlugin, dialect_names, load_dialect
from accord.dialects.translation import Json, TranslatedTransport, Translation, Translator

__all__ = [
    "DialectPlugin",
    "Json",
    "TranslatedTransport",
    "Translation",
    "Translator",
    "dialect_names",
    "load_dialect",
]
