"""The command line."""

import sys

from .money import to_text
from .report import by_month


def main():
    """Prints one line for each month."""
    for month, cents in sorted(by_month(sys.argv[1]).items()):
        print(month, to_text(cents))
