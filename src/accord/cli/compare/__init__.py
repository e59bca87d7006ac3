"""`accord run --compare`: one prompt for several agents, each in a copy of the folder, and a report of the results."""
