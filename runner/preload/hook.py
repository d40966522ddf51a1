"""Python's site module imports this, as sitecustomize, in a run that is made ready before its turn. It imports what the
script imports first, says what that was, and waits until the run may start. Then Python goes on to the script as always.

Where the result might differ from that of a start without it, it ends the process: then init starts the program anew.

In a template it waits for orders instead, and each order forks an analysis that goes on like this (src/fork.c).
"""

import os
import sys

GATE, NOTE = 5, 4  # descriptors that init passes (runner/container/initc/src/init.c)
ONLY_AST = 0x400  # ast.PyCF_ONLY_AST; ast itself is not imported
INPUTS = ("/analysis", "/work", "/data", "/docs", "/inputs")
MAX_TEXT = 128 << 10  # of an order: arguments and environment
HERE = os.path.dirname(__file__)
PROJECT = os.path.dirname(os.path.realpath(sys.argv[0]))  # comes first in sys.path when the script runs


class Cold(Exception):
    """Why the program must start anew."""


def hide():
    """Takes back how Python came here, and imports the root filesystem's own sitecustomize, if it has one."""
    sys.path.remove(HERE)
    sys.path_importer_cache.pop(HERE, None)
    del os.environ["PYTHONPATH"]
    del sys.modules["sitecustomize"]
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise


def constant(node):
    return type(node).__name__ in ("Constant", "Str", "Num", "NameConstant", "Bytes")


def harmless(node):
    """Whether a statement changes nothing that an import may see: a text, a constant, a choice of matplotlib's backend."""
    kind = type(node).__name__
    if kind == "Assign":
        return constant(node.value) and all(type(target).__name__ == "Name" for target in node.targets)
    if kind != "Expr":
        return False
    call = node.value
    return constant(call) or (
        type(call).__name__ == "Call" and type(call.func).__name__ == "Attribute" and call.func.attr == "use"
        and type(call.func.value).__name__ == "Name" and call.func.value.id in ("matplotlib", "mpl")
        and all(map(constant, call.args)) and not call.keywords)


def leading(tree):
    """The imports that the script executes before anything else."""
    for node in tree.body:
        if type(node).__name__ in ("Import", "ImportFrom"):
            yield node
        elif not harmless(node):
            return


def tops(node):
    """The packages of an import; none of a relative one."""
    if type(node).__name__ == "Import":
        return [alias.name.partition(".")[0] for alias in node.names]
    return [] if node.level else [node.module.partition(".")[0]]


def trusted(name):
    """Whether a package is one of the root filesystem or of the runtime, and not of the analysis."""
    if name in sys.builtin_module_names or name in sys.modules:
        return True
    spec = sys.modules["_frozen_importlib"]._find_spec(name, None)
    if spec is None:
        return False
    places = list(spec.submodule_search_locations or ()) + [spec.origin or ""]
    return not any(os.path.realpath(place).startswith(tuple(top + "/" for top in INPUTS)) for place in places)


def imports(wanted):
    """The statements to execute, and the packages that they name."""
    with open(sys.argv[0], "rb") as script:
        source = script.read()
    if wanted == "auto":
        tree = compile(source, sys.argv[0], "exec", ONLY_AST, True)
    else:
        tree = compile("".join("import %s\n" % name for name in wanted.split(",")), "<preload>", "exec", ONLY_AST, True)
    for node in leading(tree):
        if not tops(node) or not all(map(trusted, tops(node))):
            if wanted == "auto":
                return
            raise Cold("%s is not a package of the root filesystem or the runtime" % ", ".join(tops(node)))
        yield tree, node


def preload(wanted):
    """Imports, and returns the names of the packages."""
    names, scope = [], {"__name__": "__main__", "__builtins__": __builtins__}
    for tree, node in list(imports(wanted)):
        names += [name for name in tops(node) if name not in names and name != "__future__"]
        tree.body = [node]
        exec(compile(tree, sys.argv[0], "exec", 0, True), scope)
    return names


def silently(work, *args):
    """Calls work, which must print nothing: it would come before what the script prints, or be lost on it."""
    said = os.open("/tmp", os.O_TMPFILE | os.O_RDWR, 0o600)
    kept = [os.dup(1), os.dup(2)]
    try:
        os.dup2(said, 1)
        os.dup2(said, 2)
        result = work(*args)
        sys.stdout.flush()
        sys.stderr.flush()
        if os.lseek(said, 0, os.SEEK_END):
            raise Cold("an import printed something")
        return result
    finally:
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        for fd in kept + [said]:
            os.close(fd)


def shadowed(before):
    """The first module that the script would find beside itself; None: none."""
    beside = {entry.partition(".")[0] for entry in os.listdir(PROJECT)}
    for name in sorted({name.partition(".")[0] for name in set(sys.modules) - before} & beside):
        return name
    return None


def version(name):
    found = getattr(sys.modules.get(name), "__version__", "")
    return found if isinstance(found, str) and found.isascii() and found.isprintable() and " " not in found else ""


def file(fd):
    """Which file a descriptor is; None: it is closed."""
    try:
        return os.fstat(fd)[:3]
    except OSError:
        return None


def note(kind, lines, end=b"\0"):
    text = memoryview(os.fsencode("\n".join([kind] + lines)) + end)
    while text:
        text = text[os.write(NOTE, text):]
    os.close(NOTE)


def preloaded():
    """Imports, and returns the lines of the note; where anything is in the way, it ends the process."""
    wanted, before, pipes = os.environ.pop("SCIDEX_PRELOAD"), set(sys.modules), (file(NOTE), file(GATE))
    try:
        if sys.implementation.name != "cpython":
            raise Cold("only CPython imports ahead")
        names = silently(preload, wanted)
        if (file(NOTE), file(GATE)) != pipes:
            raise Cold("an import closed a descriptor that is not its own")
        if shadowed(before):
            raise Cold("%s is beside the script too" % shadowed(before))
    except BaseException as error:
        try:
            if file(NOTE) == pipes[0]:
                note("cold", [str(error) if isinstance(error, Cold) else "%s: %s" % (type(error).__name__, error)])
        finally:
            os._exit(1)  # an exception would let the site module go on to the script
    return ["%s %s" % (name, version(name)) for name in names]


def own_threads():
    """Has the libraries of linear algebra start no threads here, and returns what restores the environment."""
    before = {name: os.environ.get(name) for name in ("OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS")}
    os.environ.update(dict.fromkeys(before, "1"))

    def restore():
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value

    return restore


SETTERS = ("openblas_set_num_threads", "openblas_set_num_threads64_", "scipy_openblas_set_num_threads64_",
           "scipy_openblas_set_num_threads", "MKL_Set_Num_Threads", "bli_thread_set_num_threads")


def set_threads():
    """Gives the libraries of linear algebra the threads that they would have started with."""
    import ctypes
    count = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or ""
    count = int(count) if count.isdigit() else len(os.sched_getaffinity(0))
    if count == 1:
        return
    for name in ("numpy.core._multiarray_umath", "numpy._core._multiarray_umath", "scipy.linalg._fblas"):
        path = getattr(sys.modules.get(name), "__file__", None)
        if path is None:
            continue
        library = ctypes.CDLL(path)  # which is loaded: a symbol is looked up in what it is linked with
        for setter in SETTERS:
            if hasattr(library, setter):
                getattr(library, setter)(ctypes.c_int(count))
                break


def leave_modules(kept):
    """At the end of a forked process: what the template has imported is left as it is. To take it apart would copy most of the
    template's memory, page by page, only to give it back."""
    import ctypes
    for name in kept:
        module = sys.modules.get(name)
        if module is not None and module is kept[name]:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(module))
            del sys.modules[name]


def sources():
    """The files and directories that the imports came from. Those that are mapped the supervisor knows."""
    found = set(sys.path)
    for module in list(sys.modules.values()):
        found.update(getattr(module, name, None) or "" for name in ("__file__", "__cached__"))
        found.update(getattr(module, "__path__", None) or ())
    return sorted({os.path.realpath(path) for path in found if os.path.isabs(path) and os.path.exists(path) and "\n" not in path})


def take(text):
    """Makes arguments and environment those of the order."""
    words = [os.fsdecode(word) for word in text.split(b"\0")]
    count = int(words[0])
    sys.argv[1:] = words[1:1 + count]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[2:] = words[1:1 + count]
    wanted = dict(word.split("=", 1) for word in words[1 + count:] if word)
    for name in [name for name in os.environ if name not in wanted]:
        del os.environ[name]
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def fork():
    """Serves orders until it is in a process of one, and returns its text."""
    import ctypes
    import gc
    library = ctypes.PyDLL(os.path.join(HERE, "fork.so"))
    text = ctypes.create_string_buffer(MAX_TEXT)
    gc.collect()
    gc.freeze()
    ctypes.pythonapi.PyOS_BeforeFork()
    library.scidex_serve.restype = ctypes.c_ssize_t
    size = library.scidex_serve(ctypes.cast(ctypes.CDLL(None).fork, ctypes.c_void_p), text, ctypes.c_size_t(MAX_TEXT))
    ctypes.pythonapi.PyOS_AfterFork_Child()
    if size < 0:
        note("cold", ["the forked process could not become the analysis: %s" % os.strerror(-size)])
        os._exit(0)
    return text.raw[:size]


def forked():
    """In a template: imports, says so, and serves; returns in a process that has been forked for an analysis."""
    import atexit
    kept = {}
    atexit.register(leave_modules, kept)  # as the first, so that it is called last
    restore = own_threads()
    names = preloaded()
    restore()
    note("ready", names + [""] + sources())
    import ctypes  # noqa: F401
    kept.update(sys.modules)
    for name in ("__main__", "builtins", "sys", "threading", "atexit", "logging"):
        kept.pop(name, None)
    take(fork())
    set_threads()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()  # nothing of numpy's is registered to be done after a fork
    note("ready", names, b"")  # it ends when this is closed: then the descriptors are those of an analysis


hide()
if os.environ.pop("SCIDEX_TEMPLATE", None):
    forked()
else:
    note("ready", preloaded())
if not os.read(GATE, 1):
    os._exit(1)  # init has ended, or an import has taken the byte
os.close(GATE)
if "sitecustomize" not in sys.modules:
    # As if there were none. The import system forgets this module then.
    raise ImportError("no module of the root filesystem", name="sitecustomize")
