import json
raise KeyboardInterrupt
