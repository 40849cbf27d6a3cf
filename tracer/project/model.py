"""What a project says of its deployments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pathtrace.tracer.manifests.model import Found


@dataclass(frozen=True)
class Deployment:
    """One server that the project starts.

    Attributes:
        name: as the project calls it.
        launch: the command, as one text or as words.
        sglang: the tree, as ``--sglang`` takes it.
        env: variables of the server.
        env_file: a file of them.
        model_config: the model's config.json.
        draft_config: the draft model's.
        assume: facts about the machine.
        expect: the class that is to load.
        threshold: the batch size above which speculation is to be off.
        file: the file that says so.
        line: its line there; None where that is not known.
        found: the launch, where it stands in a script or manifest and not in the configuration.
    """

    name: str
    launch: tuple[str, ...]
    sglang: str = "installed"
    env: Mapping[str, str] = field(default_factory=dict)
    env_file: str | None = None
    model_config: str | None = None
    draft_config: str | None = None
    assume: Mapping[str, str] = field(default_factory=dict)
    expect: str | None = None
    threshold: int | None = None
    file: str = ""
    line: int | None = None
    found: Found | None = None


@dataclass(frozen=True)
class Project:
    """The configuration of a project.

    Attributes:
        file: the file that it stands in.
        deployments: in the order of the file.
        select: rules that are asked for.
        ignore: rules that are left out.
        python: the interpreter whose installed packages are meant.
        shared: what holds for every launch of the project that says nothing else.
        hooks: Python files, as globs from the configuration's folder, that patch SGLang from outside.
    """

    file: str
    deployments: tuple[Deployment, ...]
    select: tuple[str, ...] = ("ALL",)
    ignore: tuple[str, ...] = ()
    python: str | None = None
    shared: Deployment = field(default_factory=lambda: Deployment("", ()))
    hooks: tuple[str, ...] = ()
