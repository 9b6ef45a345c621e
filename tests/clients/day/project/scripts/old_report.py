# Replaced by harvest.cli in 1.0.0.
import csv, sys

print(sum(float(row["price"]) * int(row["pieces"]) for row in csv.DictReader(open(sys.argv[1]))))
