"""Four threads that read events for the first time in their process, as the readers of a store do."""

import sys
import threading
import typing

from accord.errors import StoreError
from accord.session.event import Event
from accord.stores.text import decode_event

sys.setswitchinterval(1e-6)
TEXTS = [b'{"event":"%b","id":"x"}' % str(kind.__struct_config__.tag).encode() for kind in typing.get_args(Event)]
barrier = threading.Barrier(4)


def read() -> None:
    barrier.wait()
    for text in TEXTS:
        try:
            decode_event(text)
        except StoreError:
            """A field is missing, which is seen when the struct is known."""


threads = [threading.Thread(target=read) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
