"""Replay: one side of a recorded conversation against a live other.

`agent` plays the recorded agent for a live client, `client` the recorded client for a live agent. Messages are matched
by method and session, not by position; ids are mapped; every deviation from the recording is reported.
"""
