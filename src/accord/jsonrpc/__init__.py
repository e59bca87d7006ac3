"""JSON-RPC 2.0 without I/O: messages, open requests and calls, cancellation, batches.

No method has a meaning here, except that `$/cancel_request` names a request.
"""
