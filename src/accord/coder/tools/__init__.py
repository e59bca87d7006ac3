"""The tools of the coding agent, each bounded to the session's roots and shown as it works.

Files and commands go through the client where it offers that. Searching and listing look at the disk of this machine.
"""
