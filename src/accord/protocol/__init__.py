"""The types of every message, by edition; the rules for when one may be sent are in `accord.session`."""
