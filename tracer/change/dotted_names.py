"""The dotted names that expressions of a Python file stand for, through its imports and plain names."""

from __future__ import annotations

import ast


class DottedNames:
    """The names of one file.

    Imports count wherever they stand: in a function, under ``try``. A name that is bound to several things
    stands for the last of them.

    Args:
        module: the file's syntax.
    """

    def __init__(self, module: ast.Module) -> None:
        self._imported: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._bound: set[str] = set()
        nodes = list(ast.walk(module))
        for node in nodes:
            self._import(node)
        for node in nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self._assign(target.id, node.value)

    def is_imported(self, node: ast.expr) -> bool:
        """Whether an expression is, or is a part of, something that an import has bound."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Call | ast.Subscript) or (isinstance(node, ast.Name) and node.id in self._imported)

    def dotted(self, node: ast.expr) -> str | None:
        """``sglang.srt.x.Class`` for an expression that names it; None for anything else."""
        if isinstance(node, ast.Name):
            return self._imported.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            owner = self.dotted(node.value)
            return None if owner is None else f"{owner}.{node.attr}"
        if isinstance(node, ast.Subscript) and self.dotted(node.value) == "sys.modules":
            return self.text(node.slice)
        if not isinstance(node, ast.Call) or not node.args:
            return None
        called = self.dotted(node.func)
        if called in ("importlib.import_module", "import_module"):
            return self.text(node.args[0])
        if called == "getattr" and len(node.args) > 1:
            owner, name = self.dotted(node.args[0]), self.text(node.args[1])
            return None if owner is None or name is None else f"{owner}.{name}"
        return None

    def text(self, node: ast.expr) -> str | None:
        """The text of a string, of a name that is bound to one, or of such put together."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            return self._texts.get(node.id)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            parts = [self.text(node.left), self.text(node.right)]
        elif isinstance(node, ast.JoinedStr):
            parts = [self.text(each.value if isinstance(each, ast.FormattedValue) else each) for each in node.values]
        else:
            return None
        known = [part for part in parts if part is not None]
        return "".join(known) if len(known) == len(parts) else None

    def _import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                self._imported[alias.asname or name] = name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                self._imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def _assign(self, name: str, value: ast.expr) -> None:
        text = self.text(value)
        self._texts.pop(name, None)
        if text is not None and name not in self._bound:
            self._texts[name] = text
        self._bound.add(name)
        if name not in self._imported and isinstance(value, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            dotted = self.dotted(value)
            if dotted is not None and dotted.startswith("sglang."):
                self._imported[name] = dotted
