import os
import signal
import json
import atexit
atexit.register(print, "never")
signal.signal(signal.SIGUSR1, lambda *a: print("got", a[0]))
os.kill(os.getpid(), signal.SIGUSR1)
signal.alarm(1)
try:
    signal.signal(signal.SIGALRM, lambda *a: 1 / 0)
    signal.pause()
except ZeroDivisionError as error:
    print(error)
import sys
r, w = os.pipe()
os.close(r)
try:
    os.write(w, b"x")
except BrokenPipeError as error:
    print(error)
try:
    os.kill(os.getpid(), signal.SIGINT)
    import time
    time.sleep(5)
except KeyboardInterrupt:
    print("interrupted")
os.kill(os.getpid(), signal.SIGTERM)
