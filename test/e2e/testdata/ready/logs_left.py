import logging
import logging.handlers
import warnings
import locale
import decimal
import time
r = logging.makeLogRecord({})
print(r.process == __import__("os").getpid(), r.processName, r.threadName, r.thread is not None, r.relativeCreated < 60000)
warnings.filterwarnings("once")
for _ in range(3):
    warnings.warn("once only")
h = logging.handlers.RotatingFileHandler("log.txt", delay=False)
logging.getLogger("mine").addHandler(h)
logging.getLogger("mine").error("an error")
h.stream.write("unflushed")
m = logging.handlers.MemoryHandler(100, target=h)
logging.getLogger("mine").addHandler(m)
logging.getLogger("mine").error("kept in memory until the end")
print(locale.setlocale(locale.LC_ALL), time.process_time() > 0, time.perf_counter() > 0, decimal.getcontext())
