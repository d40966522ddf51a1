"""Python's site module imports this, as sitecustomize, in a run that is made ready before its turn. It imports what the
script imports first, says what that was, and waits until the run may start. Then Python goes on to the script as always.

Where the result might differ from that of a start without it, it ends the process: then init starts the program anew.
"""

import os
import sys
import time as TIME  # built in, and imported by Python itself

GATE, NOTE = 5, 4  # descriptors that init passes (runner/sandbox/runc/container/initc/src/init.c)
ONLY_AST = 0x400  # ast.PyCF_ONLY_AST; ast itself is not imported
HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
REGISTRY = "__warningregistry__"  # warnings keep it where they are attributed to
WRITABLE = ("/work", "/tmp", "/dev/shm", "/home/analysis")  # spec/env.go
INPUTS = ("/analysis", "/work", "/data", "/docs", "/inputs")
HERE = os.path.dirname(__file__)
PROJECT = os.path.dirname(os.path.realpath(getattr(sys, "argv", [""])[0]))  # comes first in sys.path when the script runs


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


def agg(node):
    """Whether a node is the name of matplotlib's backend Agg. Others may refuse where pyplot is imported already."""
    return str(getattr(node, "value", getattr(node, "s", ""))).lower() == "agg"


def harmless(node):
    """Whether a statement changes nothing that an import may see: a text, a constant, the choice of the backend Agg."""
    kind = type(node).__name__
    if kind == "Assign":
        return constant(node.value) and all(type(target).__name__ == "Name" for target in node.targets)
    if kind != "Expr":
        return False
    call = node.value
    return constant(call) or (
        type(call).__name__ == "Call" and type(call.func).__name__ == "Attribute" and call.func.attr == "use"
        and type(call.func.value).__name__ == "Name" and call.func.value.id in ("matplotlib", "mpl")
        and len(call.args) == 1 and constant(call.args[0]) and agg(call.args[0]) and not call.keywords)


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


def imports():
    """The script's tree, and those of its leading imports that are of trusted packages."""
    early = os.path.join(HERE, "script")
    with open(early if os.path.exists(early) else sys.argv[0], "rb") as script:
        tree, found = compile(script.read(), sys.argv[0], "exec", ONLY_AST, True), []
    for node in leading(tree):
        if not tops(node) or not all(map(trusted, tops(node))):
            break
        found.append(node)
    return tree, found


def named(node, name):
    """Whether an import imports a module of this name, or one below it."""
    modules = [alias.name for alias in node.names]
    if type(node).__name__ == "ImportFrom":
        modules = [node.module + "." + module for module in modules]
    return any((module + ".").startswith(name + ".") for module in modules)


def as_far_as(names, nodes):
    """The imports up to the last one that a name asks for: no module is imported that the script would not import next."""
    last = 0
    for name in names:
        places = [i for i, node in enumerate(nodes) if named(node, name)]
        if not places:
            raise Cold("%s is not among the script's first imports of the root filesystem or the runtime" % name)
        last = max(last, places[0] + 1)
    return nodes[:last]


def bound(node):
    """The names that an import binds; None: those that its module lists."""
    names = {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return None if "*" in names else names


def execute(tree, node, scope):
    """Executes an import as the script's."""
    before, tree.body = set(scope), [node]
    exec(compile(tree, sys.argv[0], "exec", 0, True), scope)
    if bound(node) is not None:
        for name in set(scope) - before - bound(node) - {REGISTRY}:
            raise Cold("an import sets %s in the script" % name)


class Nothing:
    """Finds no module: the files next to the script are not executed ahead."""

    def find_spec(self, name, target=None):
        return None

    def invalidate_caches(self):
        pass


def preload(wanted, before):
    """Imports, and returns the names of the packages. Modules see the script's sys.path and __main__ as in a cold start. before are the
    modules that were there already.
    """
    begun = clocks()
    tree, nodes = imports()
    if wanted != "auto":
        nodes = as_far_as(wanted.split(","), nodes)
    names, scope = [], vars(sys.modules["__main__"])
    kept, loader = dict(scope), sys.modules["_frozen_importlib_external"].SourceFileLoader
    scope.update(__loader__=loader("__main__", sys.argv[0]), __file__=sys.argv[0], __cached__=None)
    sys.path.insert(0, PROJECT)
    sys.path_importer_cache[PROJECT] = Nothing()
    try:
        for node in nodes:
            names += [name for name in tops(node) if name not in names and name != "__future__"]
            execute(tree, node, scope)
    finally:
        kept.update((name, value) for name, value in scope.items() if name == REGISTRY)
        scope.clear()
        scope.update(kept)
        if sys.path[:1] != [PROJECT]:
            raise Cold("an import changed the beginning of sys.path")
        del sys.path[0]
        sys.path_importer_cache.pop(PROJECT, None)
    keeper = dated(before, begun, clocks())
    if keeper:
        raise Cold("%s keeps the time of its import" % keeper)
    return names


def silently(work, *args):
    """Calls work, which must print nothing: it would come before what the script prints, or be lost on it. A pipe, as standard output is."""
    said, to = os.pipe()
    kept = [os.dup(1), os.dup(2)]
    for fd in (said, to):
        os.set_blocking(fd, False)
    try:
        os.dup2(to, 1)
        os.dup2(to, 2)
        result = work(*args)
        sys.stdout.flush()
        sys.stderr.flush()
    except BlockingIOError:
        raise Cold("an import printed something") from None
    finally:
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        for fd in kept + [to]:
            os.close(fd)
    try:
        if os.read(said, 1):
            raise Cold("an import printed something")
    except BlockingIOError:
        raise Cold("an import keeps a copy of standard output or standard error") from None
    finally:
        os.close(said)
    return result


def clocks():
    """What the clocks say, in seconds."""
    return TIME.time(), TIME.monotonic(), TIME.perf_counter()


def reads(value, begun, ended):
    """Whether a value is a moment between two readings of the clocks: a datetime, or a number of seconds or nanoseconds."""
    if type(value).__name__ == "datetime" and hasattr(type(value), "timestamp"):
        try:
            return begun[0] <= value.timestamp() <= ended[0]
        except Exception:  # as of the first year that a datetime has
            return False
    if type(value) is float:
        return value % 1 != 0 and any(first <= value <= last for first, last in zip(begun, ended))
    return type(value) is int and value > 10 ** 9 and (
        int(begun[0]) <= value <= ended[0] or any(first * 1e9 <= value <= last * 1e9 for first, last in zip(begun, ended)))


def attributes(value):
    """The attributes of an object, not looked up by code of its own."""
    try:
        return list(object.__getattribute__(value, "__dict__").items())
    except (AttributeError, TypeError):
        return []


def parts(value):
    """The attributes of an object of a class of Python's."""
    kind = type(value)  # isinstance might call code of the object
    return attributes(value) if kind.__flags__ & HEAP_TYPE and not issubclass(kind, type) else []


def dated(before, begun, ended):
    """The first module that keeps the time of its import in a name of its own; None: none."""
    for name in sorted(set(sys.modules) - before):
        for key, value in attributes(sys.modules[name]):
            if (name, key) == ("logging", "_startTime"):
                continue  # see renew
            if reads(value, begun, ended) or any(reads(inner, begun, ended) for _, inner in parts(value)):
                return name
    return None


def renew():
    """Logging counts from its import (relativeCreated)."""
    logging = sys.modules.get("logging")
    if logging:
        logging._startTime = TIME.time_ns() if isinstance(logging._startTime, int) else TIME.time()


def shadowed(before):
    """The first module that the script would find beside itself; None: none."""
    beside = {entry.partition(".")[0] for entry in os.listdir(PROJECT)}
    for name in sorted({name.partition(".")[0] for name in set(sys.modules) - before} & beside):
        return name
    return None


def files():
    """The paths of all that an analysis could have written."""
    return {os.path.join(top, name) for place in WRITABLE for top, below, names in os.walk(place) for name in below + names}


def remove(paths):
    """Removes what imports have made, before the program starts anew; what a directory holds first."""
    for path in sorted(paths, reverse=True):
        try:
            (os.rmdir if os.path.isdir(path) and not os.path.islink(path) else os.unlink)(path)
        except OSError:
            pass  # a process that the imports have left may be faster


def version(name):
    found = getattr(sys.modules.get(name), "__version__", "")
    return found if isinstance(found, str) and found.isascii() and found.isprintable() and " " not in found else ""


def file(fd):
    """Which file a descriptor is; None: it is closed."""
    try:
        return os.fstat(fd)[:3]
    except OSError:
        return None


def note(kind, lines):
    text = memoryview(os.fsencode("\n".join([kind] + lines)) + b"\0")
    while text:
        text = text[os.write(NOTE, text):]
    os.close(NOTE)


def reason(error):
    return str(error) if isinstance(error, Cold) else "%s: %s" % (type(error).__name__, error)


def preloaded():
    """Imports, and returns the lines of the note; where anything is in the way, it ends the process."""
    wanted, before, pipes = os.environ.pop("SCIDEX_PRELOAD"), set(sys.modules), (file(NOTE), file(GATE))
    there = files()
    try:
        if sys.implementation.name != "cpython":
            raise Cold("only CPython imports ahead")
        if sys.modules["site"].ENABLE_USER_SITE and sys.modules["_frozen_importlib"]._find_spec("usercustomize", None):
            raise Cold("usercustomize is imported before the script")
        names = silently(preload, wanted, before)
        if (file(NOTE), file(GATE)) != pipes:
            raise Cold("an import closed a descriptor that is not its own")
        if shadowed(before):
            raise Cold("%s is beside the script too" % shadowed(before))
    except BaseException as error:
        try:
            if file(NOTE) == pipes[0]:
                remove(files() - there)
                note("cold", [reason(error)])
        finally:
            os._exit(1)  # an exception would let the site module go on to the script
    return ["%s %s" % (name, version(name)) for name in names]


def speak():
    """Says that this is executed, and nothing of the script was. A child of an interpreter that does not execute it must not say so."""
    if os.getppid() != 1 or os.getsid(0) != os.getpid():
        os._exit(1)
    os.write(NOTE, b"hook\0")


def begin():
    """Says that the hook is executed, and hides it. An exception would let the site module go on to the script before its turn."""
    try:
        speak()
        if not hasattr(sys, "argv"):
            raise Cold("Python before 3.7 does not say in time which script it executes")
        hide()
    except BaseException as error:
        try:
            note("cold", [reason(error)])
        finally:
            os._exit(1)


begin()
note("ready", preloaded())
if not os.read(GATE, 1):
    os._exit(1)  # init has ended, or an import has taken the byte
os.close(GATE)
renew()
if "sitecustomize" not in sys.modules:
    # As if there were none. The import system forgets this module then.
    raise ImportError("no module of the root filesystem", name="sitecustomize")
