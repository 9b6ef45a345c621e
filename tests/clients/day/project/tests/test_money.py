import unittest

from harvest.money import to_cents, to_text


class Money(unittest.TestCase):
    def test_whole_amounts(self):
        self.assertEqual(to_cents("12.50"), 1250)

    def test_there_and_back(self):
        self.assertEqual(to_text(to_cents("3.25")), "3.25")
