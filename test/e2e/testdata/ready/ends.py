import atexit
import gc
import weakref


class Ends:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("del", self.name)


atexit.register(print, "atexit, first registered")
atexit.register(lambda: print("atexit, last registered", gc.isenabled()))
one, two = Ends("one"), Ends("two")
cycle = Ends("cycle")
cycle.itself = cycle
weakref.finalize(one, print, "finalize one")
reference = weakref.ref(two, lambda _: print("a weak reference has died"))
del two
print(reference(), gc.get_threshold(), gc.get_count()[2] >= 0)
