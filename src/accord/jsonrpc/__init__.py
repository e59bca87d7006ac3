"""JSON-RPC 2.0 without I/O: messages, open requests and calls, cancellation, batches.

It interprets no method except `$/cancel_request`, whose params name a request.
"""
