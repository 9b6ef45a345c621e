"""Money as whole cents, never as fractions."""


def to_cents(text):
    """Cents of an amount such as `12.50`."""
    return int(float(text) * 100)


def to_text(cents):
    """The amount of so many cents, with two decimals."""
    return f"{cents // 100}.{cents % 100:02}"
