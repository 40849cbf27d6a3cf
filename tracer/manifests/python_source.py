"""Python source: its calls in order, the names that imports give, and the text of each node."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from pathtrace.tracer.manifests.model import Spot

_LEAVES = (ast.Name, ast.Constant, ast.expr_context, ast.operator)
Positioned = ast.expr | ast.keyword


@dataclass(frozen=True)
class Call:
    """A call, and the function or class that it stands in (empty outside of any)."""

    node: ast.Call
    within: str


class Source:
    """A parsed file.

    Attributes:
        calls: its calls, in the order of the file.
        names: what imports bind: a name to the dotted path that it stands for.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: text that Python does not parse.
    """

    def __init__(self, text: str) -> None:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
        self._lines = [line.encode("utf-8", "surrogatepass") for line in text.split("\n")]
        self.calls: list[Call] = []
        self.names: dict[str, str] = {}
        for node, within in _nodes(module):
            if isinstance(node, ast.Call):
                self.calls.append(Call(node, within))
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.name if alias.asname else alias.name.partition(".")[0]
                    self.names[alias.asname or bound] = bound
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    self.names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        self.calls.sort(key=lambda call: (call.node.lineno, call.node.col_offset))

    def dotted(self, node: ast.expr) -> str | None:
        """The dotted path that an expression names, its first name as imports bind it."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        parts.append(self.names.get(node.id, node.id))
        return ".".join(reversed(parts))

    def spot(self, node: Positioned) -> Spot:
        """Where a node starts; columns count characters."""
        before = self._lines[node.lineno - 1][: node.col_offset]
        return Spot(node.lineno, len(before.decode("utf-8", "replace")) + 1)

    def written(self, node: Positioned) -> str:
        """The text of a node."""
        return self._between(node.lineno, node.col_offset, node)

    def written_behind(self, inner: ast.expr, node: ast.expr) -> str:
        """The text of a node behind one inside of it."""
        return self._between(inner.end_lineno or inner.lineno, inner.end_col_offset or 0, node)

    def _between(self, line: int, column: int, node: Positioned) -> str:
        last = (node.end_lineno or node.lineno) - 1
        lines = self._lines[line - 1 : last + 1]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][column:]
        return b"\n".join(lines).decode("utf-8", "replace")


def _nodes(module: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Every node with the name that it stands in; without recursion, as code may nest deeply."""
    waiting: list[tuple[ast.AST, str]] = [(module, "")]
    while waiting:
        node, within = waiting.pop()
        yield node, within
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            within = f"{within}.{node.name}" if within else node.name
        for value in map(node.__dict__.get, node._fields):
            if isinstance(value, list):
                waiting.extend((child, within) for child in value if isinstance(child, ast.AST))
            elif isinstance(value, ast.AST) and not isinstance(value, _LEAVES):
                waiting.append((value, within))
