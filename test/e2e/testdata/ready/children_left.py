import json
import os
import time
for _ in range(20):
    if os.fork() == 0:
        os._exit(0)
time.sleep(0.1)
print("its children are dead, and not waited for")
