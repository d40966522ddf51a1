# -*- coding: latin-1 -*-
import json
print(ascii("é"), "é".encode("utf-8"))
