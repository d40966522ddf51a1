import atexit
import sys
import threading


class Ends:
    def __del__(self):
        import json
        import decimal
        print("del", json.dumps([1]), decimal.Decimal(1))
        raise SystemExit(5)


@atexit.register
def late():
    print("atexit")
    sys.exit(6)


lost = Ends()
lost.itself = lost
del lost
threading.Thread(target=sys.exit, args=(7,)).start()
