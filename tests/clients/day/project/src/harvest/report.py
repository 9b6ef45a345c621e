"""Reports over all sales."""

import csv
from collections import defaultdict

from .basket import total


def by_month(path):
    """Cents of each month, from a file with the columns date, fruit, pieces, price."""
    months = defaultdict(int)
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            months[row["date"][:7]] += total([(row["pieces"], row["price"])])
    return dict(months)
