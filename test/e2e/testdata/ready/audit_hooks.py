import sys
seen = []
sys.addaudithook(lambda event, args: seen.append(event) if event.startswith("import") else None)
import csv
print(sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.gettrace(), sys.getprofile(), "import" in seen)
