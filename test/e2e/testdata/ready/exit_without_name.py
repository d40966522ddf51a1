import json
import sys

del __file__
print("exits")
sys.exit(4)
