"""JSON-RPC 2.0 without I/O: messages, who waits for whom, cancellation, batches.

No method has a meaning here, except that `$/cancel_request` names a request.
"""
