"""The files that `accord new` writes."""
