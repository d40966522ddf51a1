"""How a process ends that was forked for an analysis (template.py). What the template has imported is left as it is: Python would take it
apart, which copies most of the template's memory, page by page, only to give it back. What the script made ends as ever.
"""

import gc
import os
import sys

# These are taken apart as ever: scripts give functions of theirs to them.
TAKEN_APART = ("__main__", "builtins", "sys", "atexit", "copyreg", "logging", "signal", "threading", "warnings", "weakref")


class Ending:
    """Is called by atexit after all that the script has registered."""

    def prepare(self, ctypes, library):
        """Notes in the template what it has imported."""
        self.modules, self.last = {name: sys.modules[name] for name in sys.modules if name not in TAKEN_APART}, list(sys.modules)[-1]
        self.ctypes, self.library = ctypes, library
        library_c = ctypes.CDLL(None)
        self.exit = ctypes.cast(library_c.exit, ctypes.c_void_p)
        if hasattr(library_c, "on_exit"):  # glibc
            library_c.on_exit(library.scidex_exited, ctypes.cast(library_c.fflush, ctypes.c_void_p))

    def __call__(self):
        flushed = flush_files()
        succeeded = self.succeeded()
        self.leave_modules()
        if succeeded:
            self.ctypes.pythonapi.PySys_AddAuditHook(self.library.scidex_audit, self.exit)
        if flushed:
            self.library.scidex_leave()

    def succeeded(self):
        """Whether the exit status will be 0. Python takes __file__ back where the script has ended, but not where it called sys.exit."""
        main = vars(sys.modules["__main__"])
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except Exception:
            return False
        return not any(map(main.__contains__, ("__file__", "__cached__"))) and not hasattr(sys, "last_type")

    def leave_modules(self):
        """Leaves in sys.modules what the script has imported. To go through the others would write to each, since it counts references."""
        self.leave(self)
        self.leave(sys.path_importer_cache)  # with the names of all files beside them
        modules = {name: sys.modules[name] for name in TAKEN_APART if name in sys.modules}
        modules.update(reversed(list(self.own())))
        self.swap(sys.modules, modules)
        for name in sys.modules:
            del modules[name]
        self.leave(modules)
        sys.meta_path.insert(0, Finder(self.modules))
        # Python takes apart this module after the script, which may be left until then: a module may have a function of it.
        last = sys.modules["scidex_last"] = type(sys)("scidex_last")
        last.remains = Remains(vars(sys.modules["__main__"]))
        self.leave(last)

    def own(self):
        """The modules that the script has imported, the last one first."""
        for name in reversed(sys.modules) if hasattr(dict, "__reversed__") else reversed(list(sys.modules)):
            if name == self.last:
                return
            if self.modules.get(name) is not sys.modules[name]:
                yield name, sys.modules[name]

    def swap(self, one, other):
        """Swaps what two dictionaries hold."""
        head = object.__basicsize__
        body = self.ctypes.c_char * (dict.__basicsize__ - head)
        one, other = (body.from_address(id(each) + head) for each in (one, other))
        one[:], other[:] = other[:], one[:]

    def leave(self, what):
        """Has an object never deleted."""
        self.ctypes.pythonapi.Py_IncRef(self.ctypes.py_object(what))


class Finder:
    """Finds what is left where it is imported again at the end."""

    def __init__(self, modules):
        self.modules = modules

    def find_spec(self, name, path=None, target=None):
        if name in self.modules:
            return type(sys.__spec__)(name, self)

    def create_module(self, spec):
        return self.modules[spec.name]

    def exec_module(self, module):
        pass


class Remains:
    """Takes apart what is then left of a namespace when it is deleted."""

    __slots__ = ("__number",)

    def __init__(self, namespace):
        self.__number = id(namespace)

    def __del__(self):
        for each in gc.get_objects():
            if id(each) == self.__number and type(each) is dict:
                each.update(dict.fromkeys([name for name in each if name != "__builtins__"]))
                gc.collect()


def flush_files():
    """Flushes the files that the script has left open, and returns whether there are none: one that is in a module is never closed."""
    import io
    if not any(os.path.isfile("/proc/self/fd/" + fd) for fd in os.listdir("/proc/self/fd") if int(fd) > 2):
        return True
    for each in gc.get_objects():
        if type(each) in (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom):
            try:
                if os.path.isfile(each.fileno()):  # that of a pipe may wait
                    each.flush()
            except (OSError, ValueError):
                pass  # it is closed, or says so when it is
    return False
