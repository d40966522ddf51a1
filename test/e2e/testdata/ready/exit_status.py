import os
import signal
import sys
import json
pids = []
for how in ("sys.exit(3)", "os._exit(4)", "os.kill(os.getpid(), signal.SIGTERM)", "1/0", "sys.exit('text')", "sys.exit(None)", "sys.exit(256+7)", "raise SystemExit", "os.abort()", "sys.exit(-1)"):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        exec(how)
        os._exit(99)
    print(how, os.waitpid(pid, 0)[1], flush=True)
def hook(kind, value, trace):
    print("hook", kind, value)
sys.excepthook = hook
raise KeyError("key")
