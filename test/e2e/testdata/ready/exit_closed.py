import json
import sys

print("said")
sys.stdout.flush()
sys.stdout.close()
