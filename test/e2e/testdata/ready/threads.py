import threading
import time
done = []
t = [threading.Thread(target=done.append, args=(i,)) for i in range(4)]
[x.start() for x in t]
[x.join() for x in t]
print(sorted(done), threading.current_thread().name, threading.main_thread() is threading.current_thread().name, threading.active_count())
threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
threading.Thread(target=lambda: (time.sleep(0.05), print("joined at the end"))).start()
