import json
print("never"
