import psutil

p = psutil.Process()
print(psutil.cpu_count(), p.name(), p.cwd(), p.num_threads(), p.nice(), len(p.open_files()), p.ppid())
