"""The core model of a conversation: its events, turns and transcript, and a dialect per edition.

Cold: it never waits, reads a clock or touches the system. Who speaks and over what is not known here.
"""
