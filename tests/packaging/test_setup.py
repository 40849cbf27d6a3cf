"""setup.cfg says what is in the tree: packages, version, requirements."""

from __future__ import annotations

import ast
import configparser
import re
import sys
from importlib import metadata

import pathtrace
from pathtrace.tests.packaging.shipped import ROOT, sources

# Import name -> name on the package index, where they differ.
DISTRIBUTIONS = {
    "ruamel": "ruamel.yaml",
    "tree_sitter": "tree-sitter",
    "tree_sitter_bash": "tree-sitter-bash",
    "yaml": "pyyaml",
}


def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def requirement_names(value: str) -> set[str]:
    return {re.split(r"[^A-Za-z0-9_.-]", line)[0].lower() for line in value.split("\n") if line.strip()}


def test_every_folder_with_code_is_a_listed_package() -> None:
    listed = setup()["options"]["packages"].split()
    folders = {path.parent.relative_to(ROOT) for path in sources()}
    assert sorted(listed) == sorted(".".join(["pathtrace", *folder.parts]) for folder in folders)


def test_every_folder_with_code_has_an_init() -> None:
    without = [path.parent for path in sources() if not (path.parent / "__init__.py").exists()]
    assert without == []


def test_installed_version_is_the_package_s() -> None:
    assert metadata.version("pathtrace") == pathtrace.__version__


def test_what_is_imported_is_required_and_what_is_required_is_imported() -> None:
    options = setup()["options"]
    required = requirement_names(options["install_requires"])
    optional = requirement_names(setup()["options.extras_require"]["server"])
    imported = set()
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                imported.add(node.module.split(".")[0])
    third_party = imported - set(sys.stdlib_module_names) - {"pathtrace"}
    names = {DISTRIBUTIONS.get(name, name) for name in third_party}
    assert names - optional == required
