import subprocess
import sys
print(subprocess.run([sys.executable, "-c", "import sys; print(sys.path, sorted(m for m in sys.modules if 'site' in m))"], capture_output=True, text=True))
print(subprocess.run(["sh", "-c", "ls /proc/self/fd; ulimit -a; exit 3"], capture_output=True, text=True))
