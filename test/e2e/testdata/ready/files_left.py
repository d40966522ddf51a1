import csv
import json
import logging
import warnings
csv.table = open("table.csv", "w")
csv.writer(csv.table).writerow([1, 2])
json.cache = {"file": open("bytes.bin", "wb")}
json.cache["file"].write(b"not closed")
warnings.showwarning = lambda message, *more: print("shown:", message)
warnings.warn("by the script")
handler = logging.FileHandler("log.txt")
logging.getLogger("json").addHandler(handler)
handler.stream.write("not flushed")
