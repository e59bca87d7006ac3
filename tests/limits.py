"""The time limits of tests on this machine.

`ACCORD_TIME_SCALE`, which gives other programs longer in the product too, makes every limit of the tests longer by that
factor: for a machine on which much else runs.
"""

from accord.time_scale import scaled

__all__ = ["limit"]


def limit(seconds: float) -> float:
    """Seconds after which a test gives up waiting: far more than a quiet machine needs."""
    return scaled(seconds)
