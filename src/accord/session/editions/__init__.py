"""How each edition encodes and decodes the core's events and requests: what they share, and a package per edition."""
