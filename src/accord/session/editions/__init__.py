"""The editions' encoders and decoders of the core's events and requests: the shared part, and a package per edition."""
