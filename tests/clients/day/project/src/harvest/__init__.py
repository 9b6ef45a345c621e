"""Totals of an orchard's sales."""

from .basket import total
from .money import to_cents

__all__ = ["to_cents", "total"]
