import importlib
import json
import os
print(list(os.environ), os.environb[b"HOME"], json.dumps("a"))
os.system("env | cut -d= -f1 | grep -v '^_$'")
os.environ["NEW"] = "1"
print(os.environ["SCIDEX_ANALYSIS_ID"] == os.popen("echo $SCIDEX_ANALYSIS_ID").read().strip(), os.popen("echo $NEW").read())
importlib.reload(os)
print(list(os.environ))
