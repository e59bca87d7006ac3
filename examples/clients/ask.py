"""Send one prompt to any agent and print the answer: `python ask.py "Explain this repository" -- gemini --acp`.

The blocking client: for scripts and notebooks.
"""

import sys

import accord

question, _, *command = sys.argv[1:]

with accord.open(*command, permission=accord.Policy(["allow read", "allow search"])) as session:
    print(session.prompt(question))
