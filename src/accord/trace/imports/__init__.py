"""Imports: recordings of other tools, recognised by their content, as records of ours."""
