"""What a conversation is, in no edition's words: its events, its turns, its transcript, and a dialect per edition.

Cold: it never waits, reads a clock or touches the system. Who speaks and over what is not known here.
"""
