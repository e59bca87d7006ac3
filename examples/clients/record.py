"""Record a conversation and show where its time went: `python record.py "Explain this repository" -- gemini --acp`.

The trace is the file talk.jsonl in this directory; `accord trace` shows it, filters it and converts it.
"""

import subprocess
import sys

import accord
from accord.trace import TraceWriter

question, _, *command = sys.argv[1:]

writer = TraceWriter("talk.jsonl", command=command)
with accord.open(*command, permission=accord.Policy(["allow read", "allow search"]), trace=writer) as session:
    print(session.prompt(question))
writer.close()

subprocess.run([sys.executable, "-P", "-m", "accord", "trace", writer.path, "--stats"], check=True)
