import sys
print(sys.flags, sys.warnoptions, sys._xoptions, sys.dont_write_bytecode, sys.implementation.cache_tag, sys.getrecursionlimit())
