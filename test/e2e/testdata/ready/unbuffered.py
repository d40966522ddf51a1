import os
import sys
print("kept")
sys.stdout.write("also kept")
os._exit(7)
