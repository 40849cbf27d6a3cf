"""Find the configuration class that transformers builds for a model type, in its source.

Source of the rules: ``AutoConfig.from_pretrained`` looks the type up in ``CONFIG_MAPPING_NAMES`` and the
folder of its module in ``SPECIAL_MODEL_TYPE_TO_MODULE_NAME`` (transformers/models/auto).
"""

from __future__ import annotations

import ast
from pathlib import Path

from pathtrace.tracer.configs.config_class import ClassSource, ConfigClass, read_class

_MOST_BASES = 40
_MOST_STEPS = 4


class ConfigClassReader:
    """Reads the configuration classes of one installed transformers.

    Args:
        root: the package's folder.

    Attributes:
        tables: the files that say which class a model type has; one of them may be missing.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._modules: dict[Path, ast.Module | None] = {}
        self._known: dict[str, ConfigClass | None] = {}
        auto = root / "models" / "auto"
        self.tables = (auto / "configuration_auto.py", auto / "auto_mappings.py")

    def find(self, model_type: str) -> ConfigClass | None:
        """The class that ``AutoConfig`` builds for a ``model_type``; None where that cannot be told."""
        if model_type not in self._known:
            self._known[model_type] = self._find(model_type)
        return self._known[model_type]

    def _find(self, model_type: str) -> ConfigClass | None:
        modules = [module for module in map(self.module, self.tables) if module is not None]
        names = {name for module in modules for name in _entries(module, "CONFIG_MAPPING_NAMES", model_type)}
        special = {
            name for module in modules for name in _entries(module, "SPECIAL_MODEL_TYPE_TO_MODULE_NAME", model_type)
        }
        if len(names) != 1 or len(special) > 1 or any(_singles_out(module, model_type) for module in modules):
            return None
        folder = special.pop() if special else model_type.replace("-", "_")
        (name,) = names
        for place in (self.root / "models" / folder, self.root / "models" / "deprecated" / folder):
            for file in sorted(place.glob("configuration_*.py")):
                body = self._class(file, name, 0)
                if body is not None:
                    bodies = self._bases(body)
                    return None if bodies is None else read_class(name, bodies)
        return None

    def module(self, path: Path) -> ast.Module | None:
        """A parsed file; None where it is missing or is no Python that can be read here."""
        if path not in self._modules:
            try:
                self._modules[path] = ast.parse(path.read_bytes())
            except (OSError, SyntaxError, ValueError, RecursionError):
                self._modules[path] = None
        return self._modules[path]

    def _bases(self, body: ClassSource) -> list[ClassSource] | None:
        """The class and all its bases, nearest first; None where a base cannot be found.

        Depth first, which is Python's order for the single inheritance and mixins of these classes; where
        a class is inherited on two ways the order may differ, and then nothing is told.
        """
        found: list[ClassSource] = []
        waiting = [body]
        while waiting:
            current = waiting.pop(0)
            if any(current.node is known.node for known in found) or len(found) > _MOST_BASES:
                return None
            found.append(current)
            nearer: list[ClassSource] = []
            for base in current.node.bases:
                if not isinstance(base, ast.Name):
                    return None
                if base.id == "object":
                    continue
                inherited = self._class(current.file, base.id, 0)
                if inherited is None:
                    return None
                nearer.append(inherited)
            waiting[:0] = nearer
        return found

    def _class(self, file: Path, name: str, depth: int) -> ClassSource | None:
        """A class by its name in a file, through relative imports and plain aliases."""
        module = self.module(file)
        if module is None or depth > _MOST_STEPS:
            return None
        for item in module.body:
            if isinstance(item, ast.ClassDef) and item.name == name:
                return ClassSource(item, file)
            if (
                isinstance(item, ast.Assign)
                and isinstance(item.value, ast.Name)
                and any(isinstance(target, ast.Name) and target.id == name for target in item.targets)
            ):
                return self._class(file, item.value.id, depth + 1)
            if isinstance(item, ast.ImportFrom) and item.level:
                for alias in item.names:
                    if (alias.asname or alias.name) == name:
                        place = file.parent
                        for _ in range(item.level - 1):
                            place = place.parent
                        path = place.joinpath(*(item.module or "").split("."))
                        target = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
                        return self._class(target, alias.name, depth + 1)
        return None


def _entries(module: ast.Module, table: str, key: str) -> set[str]:
    """Every value that a module gives ``key`` in literals that make or update ``table``."""
    found: set[str] = set()
    for item in module.body:
        value: ast.expr | None = None
        if isinstance(item, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == table for target in item.targets
        ):
            value = item.value
        elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Call):
            called = item.value.func
            if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == table:
                value = item.value
        if value is None:
            continue
        for part in ast.walk(value):
            pairs: list[tuple[ast.expr | None, ast.expr]] = []
            if isinstance(part, ast.Tuple) and len(part.elts) == 2:
                pairs = [(part.elts[0], part.elts[1])]
            elif isinstance(part, ast.Dict):
                pairs = list(zip(part.keys, part.values, strict=True))
            for name, given in pairs:
                if isinstance(name, ast.Constant) and name.value == key:
                    found.add(given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else "")
    return found - {""} if "" not in found else {"", "?"}


def _singles_out(module: ast.Module, model_type: str) -> bool:
    """Whether ``AutoConfig.from_pretrained`` names this model type: it may then choose another class."""
    for item in module.body:
        if isinstance(item, ast.ClassDef) and item.name == "AutoConfig":
            for function in ast.walk(item):
                if isinstance(function, ast.FunctionDef) and function.name == "from_pretrained":
                    return model_type in _texts(function)
    return False


def _texts(node: ast.AST) -> set[str]:
    return {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)}
