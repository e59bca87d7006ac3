"""The shape of every message, by edition; when one may be sent is not known here."""
