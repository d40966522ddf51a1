"""What the hook (hook.py) does in a template: it imports what the script imports first, and forks an analysis for each order.
The forked process returns to the hook and goes on to the script. It must look like an interpreter that has imported by itself.
"""

import atexit
import gc
import os
import sys

from scidex_ending import Ending

HERE = os.path.dirname(__file__)
MAX_TEXT = 128 << 10  # of an order: arguments and environment
WRITABLE = ("/work", "/tmp", "/dev/shm", os.environ.get("HOME", "/tmp"))
THREADS = ("OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS")
LINEAR_ALGEBRA = ("numpy.core._multiarray_umath", "numpy._core._multiarray_umath", "scipy.linalg._fblas")
SETTERS = ("openblas_set_num_threads", "openblas_set_num_threads64_", "scipy_openblas_set_num_threads64_",
           "scipy_openblas_set_num_threads", "MKL_Set_Num_Threads", "bli_thread_set_num_threads")


def serve(preloaded, note):
    """Imports, says so, and obeys orders. It returns in a process that was forked for an analysis."""
    try:
        become_analysis(preloaded, note)
    except BaseException:
        os._exit(1)  # Python would go on to the script, beside the one that is started in place of this process


def become_analysis(preloaded, note):
    del sys.modules[Ending.__module__]
    ending = Ending()
    atexit.register(ending)  # as the first, so that it is called last
    environment = dict(os.environ)
    modules = import_with_one_thread(preloaded, environment)
    ctypes = import_ctypes()
    library = ctypes.PyDLL(os.path.join(HERE, "fork.so"))
    note("ready", modules + [""] + sources())
    ending.prepare(ctypes, library)
    take(fork(ctypes, library, note), environment)
    renew(ctypes)
    note("ready", modules, b"")  # it ends when this is closed: then the descriptors are those of an analysis


def import_with_one_thread(preloaded, environment):
    """Imports, and has the libraries of linear algebra start no threads here: a fork would not have them."""
    before = state()
    os.environ.update(dict.fromkeys(THREADS, "1"))
    modules = preloaded(lambda: changed(before))
    for name in THREADS:
        if name in environment:
            os.environ[name] = environment[name]
        else:
            del os.environ[name]
    return modules


def state():
    """What a fork does not have of a process, or an order sets anew."""
    umask = os.umask(0)
    os.umask(umask)
    return {
        "an import left a file open": list(filter(is_open, range(256))),
        "an import left a process": has_children(),
        "an import wrote a file": written(),
        "an import changed the working directory": os.getcwd(),
        "an import changed the umask": umask,
        "an import changed the processors": os.sched_getaffinity(0),
        "an import changed the priority": os.getpriority(os.PRIO_PROCESS, 0),
    }


def changed(before):
    """What imports have changed of the state."""
    after = state()
    return next((what for what in before if before[what] != after[what]), "")


def written():
    return {os.path.join(place, name) for top in WRITABLE for place, below, files in os.walk(top) for name in below + files}


def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def has_children():
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def sources():
    """The files and directories that the imports came from. Those that are mapped the supervisor knows."""
    found = set(sys.path)
    for place in filter(os.path.isdir, sys.path):
        found.update(os.path.join(place, name) for name in os.listdir(place) if name.endswith(".pth"))
    for module in list(sys.modules.values()):
        found.update(getattr(module, name, None) or "" for name in ("__file__", "__cached__"))
        found.update(getattr(module, "__path__", None) or ())
    return sorted({os.path.realpath(path) for path in found if os.path.isabs(path) and os.path.exists(path) and "\n" not in path})


def import_ctypes():
    """Imports ctypes, which leaves nothing but its modules."""
    before = set(sys.path_importer_cache)
    import ctypes
    for place in set(sys.path_importer_cache) - before:
        del sys.path_importer_cache[place]
    return ctypes


def fork(ctypes, library, note):
    """Obeys orders until it is in a process of one, and returns its text."""
    library.scidex_serve.restype = ctypes.c_ssize_t
    text = ctypes.create_string_buffer(MAX_TEXT)
    gc.collect()
    gc.freeze()  # a collection writes to each object that it sees, which would copy its page
    ctypes.pythonapi.PyOS_BeforeFork()
    size = library.scidex_serve(ctypes.cast(ctypes.CDLL(None).fork, ctypes.c_void_p), text, ctypes.c_size_t(MAX_TEXT))
    ctypes.pythonapi.PyOS_AfterFork_Child()
    if size < 0:
        note("cold", ["the forked process could not become the analysis: %s" % os.strerror(-size)])
        os._exit(0)
    return ctypes.string_at(text, size)


def take(text, environment):
    """Makes arguments and environment those of the order. What imports have set stays."""
    words = text.split(b"\0")
    count = int(words[0])
    sys.argv[1:] = map(os.fsdecode, words[1:1 + count])
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[2:] = sys.argv[1:]
    wanted = dict(word.split(b"=", 1) for word in words[1 + count:] if word)
    for name in map(os.fsencode, environment):
        if name not in wanted:
            os.environb.pop(name, None)
    for name, value in wanted.items():
        if environment.get(os.fsdecode(name)) != os.fsdecode(value):
            os.environb[name] = value


def renew(ctypes):
    """Gives the process what no two interpreters share, and what one has that was not forked."""
    seed(sys.modules.get("numpy.random"))
    if "multiprocessing.process" in sys.modules:
        sys.modules["multiprocessing.process"].current_process().authkey = os.urandom(32)
    if hasattr(sys.modules.get("threading"), "get_native_id"):
        sys.modules["threading"].main_thread()._set_native_id()
    main = sys.modules["__main__"]
    for each in main, vars(main):  # what the script leaves in them is collected
        ctypes.pythonapi.PyObject_GC_UnTrack(ctypes.py_object(each))
        ctypes.pythonapi.PyObject_GC_Track(ctypes.py_object(each))


def seed(random):
    """Seeds NumPy's global generator from the system. Python's own seeds itself after a fork."""
    if random is None:
        return
    if hasattr(random, "set_bit_generator"):
        random.set_bit_generator(random.MT19937())
    else:
        random.seed()


def begin():
    """Gives the libraries of linear algebra the threads that they would have started with: until now there may be one alone."""
    import ctypes
    count = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or ""
    count = int(count) if count.isdigit() else len(os.sched_getaffinity(0))
    if count == 1:
        return
    for name in LINEAR_ALGEBRA:
        path = getattr(sys.modules.get(name), "__file__", None)
        if path is None:
            continue
        library = ctypes.CDLL(path)  # which is loaded: a symbol is looked up in what it is linked with
        for setter in SETTERS:
            if hasattr(library, setter):
                getattr(library, setter)(ctypes.c_int(count))
                break
