"""Baskets: what was sold in one go."""

from .money import to_cents


def total(lines):
    """Cents of all lines together; each is a number of pieces and the price of one."""
    return sum(int(pieces) * to_cents(price) for pieces, price in lines)
