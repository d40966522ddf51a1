"""Python's site module imports this, as sitecustomize, in a run that is made ready before its turn. It imports what the
script imports first, says what that was, and waits until the run may start. Then Python goes on to the script as always.

Where the result might differ from that of a start without it, it ends the process: then init starts the program anew.
"""

import os
import sys

GATE, NOTE = 5, 4  # descriptors that init passes (runner/container/initc/src/init.c)
ONLY_AST = 0x400  # ast.PyCF_ONLY_AST; ast itself is not imported
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
    early = os.path.join(HERE, "script")
    with open(early if os.path.exists(early) else sys.argv[0], "rb") as script:
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
if "sitecustomize" not in sys.modules:
    # As if there were none. The import system forgets this module then.
    raise ImportError("no module of the root filesystem", name="sitecustomize")
