"""Objects that were written for other libraries of the protocol, on Accord's engine; `acp` is for the official SDK."""
