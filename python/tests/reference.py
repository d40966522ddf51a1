"""Makes docs/reference/python.md from the docstrings: python3 -m tests.reference writes it."""

import ast
import inspect
import re
import textwrap
from pathlib import Path
from typing import Dict, Iterator, List, Tuple, Union

import scidex_oci

PAGE = Path(__file__).parent.parent.parent / "docs/reference/python.md"
WIDTH = 110  # of a signature on one line

GROUPS = {
    "One analysis": ["run", "arun", "Events", "Manifest"],
    "Results": ["Result", "Status", "Hint", "Output", "Image", "Table", "table"],
    "Many analyses": ["Batch", "sweep", "Sweep"],
    "Runs that go on": ["Executor", "AsyncExecutor", "RunLogs", "enqueue", "wait"],
    "How scidex-oci is called": ["Tool", "close_engines"],
    "SciDEX' helpers": ["create_analysis_temp_dir", "run_python_script", "cleanup_analysis_temp_dir"],
    "Exceptions": ["ScidexError", "NotInstalled", "CommandError", "EngineLost", "NotFound", "OutputNotFound", "ResultError", "AnalysisFailed",
                   "AnalysisCanceled", "AnalysisError", "RequestError", "Interrupted", "StagingError"],
}
# What other modules of the package call, and no one else should.
INTERNAL = {"Events.put", "Executor.begin", "Executor.started", "Tool.argv", "Tool.env", "Tool.start", "Tool.named", "Tool.logs_of", "Tool.outcome"}
# Fields that a page of their own describes.
DESCRIBED = {"Result": "[result.md](result.md) describes the fields."}

HEAD = """\
# Classes and functions of the Python client

Made from the docstrings, which `help(scidex_oci.run)` shows too. [One analysis](../python.md), [many](../python-many.md) and
[an orchestrator](../python-orchestrator.md) say how to use them. `StrPath` is a `str` or a path such as `pathlib.Path`. A method whose name begins with `a`, `async with` and
`async for` are for asyncio.
"""

Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef]
Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]


def page() -> str:
    definitions = dict(_definitions())
    parts = [HEAD]
    for group, names in GROUPS.items():
        parts.append(f"## {group}\n")
        for name in names:
            one = getattr(scidex_oci, name)
            parts.append(f"### {name}\n")
            parts += _described(name, definitions[f"{one.__module__}.{one.__name__}"])
    return "\n".join(parts)


def _definitions() -> Iterator[Tuple[str, Definition]]:
    for file in sorted(Path(scidex_oci.__file__).parent.glob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield f"scidex_oci.{file.stem}.{node.name}", node


def _described(name: str, node: Definition) -> List[str]:
    if not isinstance(node, ast.ClassDef):
        return [_code(_signature(node, name)), _markdown(ast.get_docstring(node))]
    bases = ", ".join(base for base in map(ast.unparse, node.bases))
    fields = [] if name in DESCRIBED else _fields(node)
    # Nobody makes an exception of these.
    init = None if name in GROUPS["Exceptions"] else next((one for one in _methods(node) if one.name == "__init__"), None)
    head = f"class {name}{f'({bases})' if bases else ''}"
    parts = [_code("\n".join([head, *([f"    {_inner(_signature(init, name))}"] if init and not fields else []), *(f"    {field}" for field in fields)]))]
    parts += [_markdown(ast.get_docstring(node)), *([f"{DESCRIBED[name]}\n"] if name in DESCRIBED else [])]
    members = [one for one in _methods(node) if not one.name.startswith("_") and f"{name}.{one.name}" not in INTERNAL]
    parts += [_member(one) for one in members]
    return [*parts, *([""] if members else [])]


def _methods(node: ast.ClassDef) -> List[Function]:
    """The methods, without what only their types say."""
    found: Dict[str, Function] = {one.name: one for one in node.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))}
    return list(found.values())


def _fields(node: ast.ClassDef) -> List[str]:
    fields = [ast.unparse(one.target) + ": " + _annotation(one.annotation) for one in node.body
              if isinstance(one, ast.AnnAssign) and not ast.unparse(one.target).startswith("_")]
    return fields + [ast.unparse(one.targets[0]) + " = " + ast.unparse(one.value) for one in node.body
                     if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]).isupper()]


def _member(node: Function) -> str:
    is_property = any(ast.unparse(one) == "property" for one in node.decorator_list)
    signature = node.name if is_property else _inner(_signature(node, node.name, " "))
    return f"- `{signature}`: " + textwrap.indent(_markdown(ast.get_docstring(node)), "  ").strip()


def _signature(node: Function, name: str, indent: str = "") -> str:
    """The definition of a function as it is called, on one line or one parameter a line; a method's without self."""
    given = node.args
    if given.args and given.args[0].arg in ("self", "cls") and not given.posonlyargs:
        given.args.pop(0)
    elif given.posonlyargs and given.posonlyargs[0].arg in ("self", "cls"):
        given.posonlyargs.pop(0)
    defaults = [None] * (len(given.posonlyargs) + len(given.args) - len(given.defaults)) + list(given.defaults)
    words = [_parameter(one, value) for one, value in zip([*given.posonlyargs, *given.args], defaults)]
    if given.posonlyargs:
        words.insert(len(given.posonlyargs), "/")
    words += [f"*{_parameter(given.vararg, None)}"] if given.vararg else ["*"] if given.kwonlyargs else []
    words += [_parameter(one, value) for one, value in zip(given.kwonlyargs, given.kw_defaults)]
    words += [f"**{_parameter(given.kwarg, None)}"] if given.kwarg else []
    returns = f" -> {_annotation(node.returns)}" if node.returns and node.name != "__init__" else ""
    kind = "async def " if isinstance(node, ast.AsyncFunctionDef) else "def "
    line = f"{kind}{name}({', '.join(words)}){returns}"
    if len(line) <= WIDTH or indent:
        return line
    lines = textwrap.wrap(", ".join(word.replace(" ", "\0") for word in words), WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    return f"{kind}{name}(\n" + "\n".join(f"    {one}" for one in lines).replace("\0", " ") + f"\n){returns}"


def _inner(signature: str) -> str:
    """A signature without def; a constructor's lines are in its class."""
    return re.sub(r"\A(async )?def ", r"\1", signature).replace("\n", "\n    ")


def _parameter(one: ast.arg, default: Union[ast.expr, None]) -> str:
    text = one.arg + (f": {_annotation(one.annotation)}" if one.annotation else "")
    return text if default is None else f"{text} = {ast.unparse(default)}" if one.annotation else f"{text}={ast.unparse(default)}"


def _annotation(node: Union[ast.expr, None]) -> str:
    return "" if node is None else ast.unparse(node).replace("'os.PathLike[str]'", "os.PathLike[str]").replace("Union[str, os.PathLike[str]]", "StrPath")


def _code(text: str) -> str:
    return f"```python\n{text}\n```\n"


def _markdown(docstring: Union[str, None]) -> str:
    """A docstring: a paragraph a line, and what is indented as code."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(docstring or "")):
        if paragraph.startswith("    "):
            parts.append(_code(textwrap.dedent(paragraph)))
        else:
            parts.append(" ".join(paragraph.split()).replace("``", "`") + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
