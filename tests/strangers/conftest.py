"""The project in here is another author's: it is run as one, and not collected with our own tests."""

collect_ignore = ["project", "programs"]
