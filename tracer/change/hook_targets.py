"""What the hooks of a Python file name: plugin hooks, wrapt, mock patches, assignments to classes. Nothing runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pathtrace.tracer.change.dotted_names import DottedNames
from pathtrace.tracer.change.hook_judgement import judged_hooks
from pathtrace.tracer.change.hook_model import HookTarget, How, JudgedHook
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.reading import read_limited

__all__ = ["HookTarget", "JudgedHook", "hook_targets", "judged_hooks", "targets_in"]

LIMIT = 4 << 20
_PACKAGE = "sglang."
_MARKS = (b"HookRegistry", b"plugin_hook", b"wrapt", b"setattr", b"patch", b"=")
_WRAPT = (
    "wrap_function_wrapper",
    "patch_function_wrapper",
    "transient_function_wrapper",
    "wrap_object",
    "wrap_object_attribute",
)
_ASSIGNS = ast.Assign | ast.AnnAssign


def targets_in(path: str) -> tuple[HookTarget, ...]:
    """The classes and functions of SGLang that the hooks of a Python file name.

    Args:
        path: the file, as the user gives it.

    Raises:
        BadInput: it cannot be read, is over 4 MB, or speaks of SGLang and is no Python.
    """
    data = read_limited(path, LIMIT, "the Python files with hooks alone")
    if not _may_hook(data):
        return ()
    try:
        return _targets(ast.parse(data), data, path)
    except SyntaxError as error:
        text = f"is no Python that can be read ({error.msg}); mend it or leave it out"
        raise BadInput(text, path, error.lineno) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise BadInput(f"is no Python that can be read ({error}); mend it or leave it out", path) from error


def hook_targets(source: bytes, file: str) -> tuple[HookTarget, ...]:
    """The classes and functions of SGLang that a file's hooks name, in the order of the file.

    Args:
        source: the file's bytes.
        file: what to call it.

    Returns:
        None at all for a file that is no Python, is over 4 MB, or does not speak of SGLang.
    """
    if len(source) > LIMIT or not _may_hook(source):
        return ()
    try:
        return _targets(ast.parse(source), source, file)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _may_hook(source: bytes) -> bool:
    return b"sglang" in source and any(mark in source for mark in _MARKS)


def _targets(module: ast.Module, source: bytes, file: str) -> tuple[HookTarget, ...]:
    names = DottedNames(module)
    lines = source.decode("utf-8", "replace").splitlines()
    found: dict[HookTarget, None] = {}
    for node in ast.walk(module):
        for path, at, how in _named(node, names):
            if path.startswith(_PACKAGE) and path.count(".") > 1:
                module_name, qualname = _parted(path)
                column = _characters(lines, at) + 1
                found[HookTarget(module_name, qualname, file, at.lineno, column, how)] = None
    return tuple(sorted(found, key=lambda each: (each.line, each.column)))


def _characters(lines: list[str], at: ast.expr) -> int:
    """The column in characters; the syntax counts bytes."""
    line = lines[at.lineno - 1] if at.lineno <= len(lines) else ""
    return len(line.encode()[: at.col_offset].decode("utf-8", "replace"))


def _parted(path: str) -> tuple[str, str]:
    """Module and name: a name in capitals begins what is in the module; else the last one is that."""
    parts = path.split(".")
    first = next((index for index, part in enumerate(parts) if part.lstrip("_")[:1].isupper()), len(parts) - 1)
    return ".".join(parts[:first]), ".".join(parts[first:])


def _named(node: ast.AST, names: DottedNames) -> Iterator[tuple[str, ast.expr, How]]:
    """The dotted names that one node hooks."""
    if isinstance(node, ast.Call):
        yield from _call(node, names)
    elif isinstance(node, _ASSIGNS) and node.value is not None:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            owner = names.dotted(target.value) if isinstance(target, ast.Attribute) else None
            if isinstance(target, ast.Attribute) and owner is not None and names.is_imported(target.value):
                yield f"{owner}.{target.attr}", target, "assignment"


def _call(node: ast.Call, names: DottedNames) -> Iterator[tuple[str, ast.expr, How]]:
    called = names.dotted(node.func) or ""
    last = called.rpartition(".")[2]
    if called.endswith("HookRegistry.register"):
        yield from _text(node, names, 0, "target", "HookRegistry.register")
    elif last == "plugin_hook":
        yield from _text(node, names, 0, "target", "plugin_hook")
    elif last in _WRAPT:
        yield from _pair(node, names, "wrapt")
    elif called == "setattr":
        yield from _pair(node, names, "setattr")
    elif called.endswith("monkeypatch.setattr") or called.endswith("patch.object"):
        yield from _pair(node, names, "mock.patch")
    elif last == "patch" and called in ("patch", "mock.patch", "unittest.mock.patch"):
        yield from _text(node, names, 0, "target", "mock.patch")


def _argument(node: ast.Call, position: int, *keywords: str) -> ast.expr | None:
    if position < len(node.args):
        found = node.args[position]
        return None if isinstance(found, ast.Starred) else found
    return next((each.value for each in node.keywords if each.arg in keywords), None)


def _text(
    node: ast.Call, names: DottedNames, position: int, keyword: str, how: How
) -> Iterator[tuple[str, ast.expr, How]]:
    """A call whose argument is the whole dotted name."""
    argument = _argument(node, position, keyword)
    text = None if argument is None else names.text(argument)
    if argument is not None and text is not None:
        yield text, argument, how


def _pair(node: ast.Call, names: DottedNames, how: How) -> Iterator[tuple[str, ast.expr, How]]:
    """A call that takes an object, or its dotted name, and the name of an attribute."""
    owner = _argument(node, 0, "module", "target", "obj")
    name = _argument(node, 1, "name", "attribute")
    if owner is None:
        return
    text, place = names.text(owner), None if name is None else names.text(name)
    base = text if text is not None and how != "setattr" else names.dotted(owner)
    if base is not None and name is not None and place is not None:
        yield f"{base}.{place}", name, how
    elif how == "mock.patch" and text is not None:  # monkeypatch.setattr("sglang.x.Class.method", function)
        yield text, owner, how
