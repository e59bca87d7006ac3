"""`accord chat`: one agent, full screen.

The client's transcript is the state; the screen follows it. Needs the extra `cli`, and is imported when the verb is
chosen.
"""
