import atexit
import json
import sys
import threading


class Ends:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("del", self.name, sys and sys.version_info[0], threading and threading.active_count())
        import decimal
        import json
        print(json.dumps([1]), decimal.Decimal(1))


class Raises:
    def __del__(self):
        raise ValueError("from __del__")


def function(default=Ends("of a default")):
    return one


one = Ends("one")
cycle = Ends("cycle")
cycle.itself = cycle
table = [Ends("in a list")]
table.append(table)
raises = Raises()
atexit.register(json.loads, "{")
atexit.register(print, "atexit")
left = open("left.txt", "w")
left.write("not closed")
other = open("other.bin", "wb")
other.write(b"not closed")
sys.stdout.write("no end of line")
