import atexit
import json
import os
import sys
import tempfile
import threading
import time
directory = tempfile.TemporaryDirectory(dir="/work")


def daemon():
    while True:
        time.sleep(0.001)
        import decimal
        import json
        json.dumps(1)


def late():
    time.sleep(0.2)
    import decimal
    print("late", decimal.Decimal(1), sys.modules["json"] is json, threading.main_thread().is_alive())


for _ in range(3):
    threading.Thread(target=daemon, daemon=True).start()
threading.Thread(target=late).start()
atexit.register(lambda: print("atexit", len(os.listdir("/work")), sys.modules["json"] is json, "os" in sys.modules))
threading.excepthook = lambda args: print("hook", args.exc_type)
threading.Thread(target=lambda: 1 / 0).start()
sys.exit(5)
