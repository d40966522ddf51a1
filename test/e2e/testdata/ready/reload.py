import importlib
import json
import numpy
old = json.loads
importlib.reload(json)
print(old is json.loads, json.__spec__.origin, importlib.import_module("numpy") is numpy)
