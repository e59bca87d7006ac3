"""The names of what a user can set in a session: modes, the model that is built in, the switches."""

__all__ = ["AUTO_APPROVE_READS", "OFFLINE"]

OFFLINE = "offline"
AUTO_APPROVE_READS = "auto_approve_reads"
