"""The files that a launch names or leads to: model configs, transformers' classes for them, ``--config``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pathtrace.tracer.configs.find import cache_folder, find_config
from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.open_text import is_open, shown

if TYPE_CHECKING:
    from pathtrace.tracer.check import CheckRequest
    from pathtrace.tracer.configs.config_class import ConfigClass
    from pathtrace.tracer.configs.installed_transformers import InstalledTransformers


class LaunchFiles:
    """The files that a launch names: model configs and the ``--config`` file.

    Attributes:
        read: every file that was read or looked for.
        model: the model path, as far as it can be told without the tree's parser.
        draft: the draft model's path, likewise.
        transformers_read: version of the installed transformers whose classes were read, if any were.
        transformers_note: why they were not read although there is one.
        plain: configurations for paths that stand for no model of this machine.
    """

    def __init__(self, request: CheckRequest) -> None:
        self.request = request
        self.read: set[str] = set()
        self.transformers_read: str | None = None
        self.transformers_note: str | None = None
        self.plain: Mapping[str, dict[str, Any]] = {}
        self._transformers: tuple[InstalledTransformers | None] | None = None
        self.model, self.draft = _paths(request)
        # The server's own variables place its cache; what it does not set it has from where it is started.
        self.environ = {**os.environ, **request.environment.values}
        self._found: dict[tuple[str, str | None], tuple[str, dict[str, Any] | None]] = {}

    def config_for(self, path: str, revision: str | None = None) -> tuple[str, dict[str, Any] | None]:
        """The config.json of a model path: given, in the folder, or in the Hugging Face cache on disk."""
        known = self._found.get((path, revision))
        if known is None:
            is_draft = path == self.draft and path != self.model
            override = self.request.draft_config if is_draft else self.request.model_config
            found = find_config(path, revision, override, self.environ)
            if found is not None:
                self.read.add(str(found.path))
            elif not is_open(path):
                self.read.update(self._places(path, revision))
            data = self.plain.get(path) if found is None else dict(found.data)
            known = self._found[path, revision] = ("draft" if is_draft else "hf", data)
        return known

    def open_path(self, text: str) -> str | None:
        """The model or draft path of the launch that is not stated in full and was written like this."""
        return next((path for path in (self.model, self.draft) if path and is_open(path) and shown(path) == text), None)

    def _places(self, path: str, revision: str | None) -> tuple[str, ...]:
        """Where a config.json of this model would appear: its folder, or the Hugging Face cache."""
        repository = cache_folder(self.environ) / ("models--" + path.replace("/", "--"))
        return (os.path.join(path, "config.json"), str(repository / "refs" / (revision or "main")))

    def configs(self) -> tuple[tuple[str, dict[str, Any] | None], ...]:
        """The configurations that were asked for: label and content, None where none was found."""
        return tuple(self._found.values())

    def config_class(self, data: Mapping[str, Any]) -> ConfigClass | None:
        """What the installed transformers makes of a config.json; None where that cannot be told.

        Remote code (``auto_map``) is never read, nor a transformers that the tree would not run with.
        """
        model_type, remote = data.get("model_type"), data.get("auto_map")
        if not isinstance(model_type, str) or (remote is not None and "AutoConfig" in remote):
            return None
        if self._transformers is None:
            self._transformers = (self._usable_transformers(),)
        (installed,) = self._transformers
        found = None if installed is None else installed.reader.find(model_type)
        if installed is not None and found is not None:
            self.read.update(found.files, map(str, installed.reader.tables))
            self.transformers_read = installed.version or f"at {installed.root}"
        return found

    def _usable_transformers(self) -> InstalledTransformers | None:
        from pathtrace.tracer.configs.installed_transformers import installed_transformers
        from pathtrace.tracer.requirements import required_version

        installed = installed_transformers(self.request.python)
        if installed is None:
            return None
        required = required_version(self.request.tree, "transformers")
        if installed.meets(required):
            return installed
        self.transformers_note = (
            f"the installed transformers {installed.version} is not read: the tree requires {required} "
            "(--python names the interpreter of the server)"
        )
        return None

    def about(self, path: str, question: str) -> bool | None:
        """What is known of a path of the launch on this machine."""
        if path in (self.model, self.draft):
            if os.path.isdir(path):
                return question != "is a file"
            if question == "is a file":
                return os.path.isfile(path)
        inside = any(
            folder is not None and path.startswith(folder.rstrip("/") + "/") and os.path.isdir(folder)
            for folder in (self.model, self.draft)
        )
        if inside:
            self.read.add(path)
        if inside or path.endswith((".yaml", ".yml")):
            self.read.add(path)
            return {"exists": os.path.exists, "is a file": os.path.isfile, "is a folder": os.path.isdir}[question](path)
        return None

    def text(self, path: str) -> str | None:
        """The text of a YAML file of the launch."""
        if not path.endswith((".yaml", ".yml")):
            return None
        try:
            if os.path.getsize(path) > 1 << 20:
                raise BadInput("the --config file is larger than 1 MB", path)
            self.read.add(path)
            return Path(path).read_text(encoding="utf-8")
        except OSError:
            return None
        except UnicodeDecodeError as error:
            raise BadInput("the --config file is not text", path) from error


def _paths(request: CheckRequest) -> tuple[str | None, str | None]:
    """Model and draft path as the launch gives them (argparse decides; this is for files only)."""
    launch = request.launch
    if launch.kwargs:
        return launch.kwargs.get("model_path"), launch.kwargs.get("speculative_draft_model_path")
    found: dict[str, str] = {}
    words = launch.argv
    if launch.entry == "serve" and words and not words[0].startswith("-"):
        found["model"] = words[0]
    for index, word in enumerate(words):
        flag, _, value = word.partition("=")
        kind = (
            "model"
            if flag in ("--model-path", "--model")
            else "draft"
            if "--speculative-draft-model-path".startswith(flag)
            and flag.startswith("--speculative-draft")
            or flag == "--speculative-draft-model"
            else None
        )
        if kind is not None:
            text = value if "=" in word else words[index + 1] if index + 1 < len(words) else ""
            found[kind] = text
    return found.get("model"), found.get("draft")
