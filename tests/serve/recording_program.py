"""A program behind a host: writes down every line that it gets, and answers each request with a session.

With `asks` behind the name of the record it asks for a permission first, in each prompt.
"""

import json
import sys

with open(sys.argv[1], "a", encoding="utf-8") as record:  # noqa: PTH123 - the folder is the test's
    for line in sys.stdin:
        record.write(line)
        record.flush()
        message = json.loads(line)
        if "id" in message and "method" in message:
            if message["method"] == "session/prompt" and "asks" in sys.argv:
                question = {**message, "id": 0, "method": "session/request_permission"}
                sys.stdout.write(json.dumps(question) + "\n")
            result = {"protocolVersion": 1} if message["method"] == "initialize" else {"sessionId": "mine"}
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
            sys.stdout.flush()
