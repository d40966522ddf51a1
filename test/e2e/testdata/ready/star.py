from os.path import *
from math import pi as circle, sqrt
import xml.etree.ElementTree as tree, collections.abc
print(join("a", "b"), circle, sqrt(4), tree.__name__, sorted(n for n in globals() if not n.startswith("__")))
