import unittest

from harvest.basket import total


class Basket(unittest.TestCase):
    def test_two_lines(self):
        self.assertEqual(total([("2", "1.50"), ("1", "0.25")]), 325)
