"""What the tests of this folder share."""

from tests.graces import short_graces

__all__ = ["short_graces"]
