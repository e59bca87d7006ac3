"""The core model of a conversation: its events, turns and transcript, and a dialect per edition.

Cold: it never waits, reads a clock or touches the operating system. Connections and transports are not known here.
"""
