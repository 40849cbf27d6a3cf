"""Evaluate launches on one tree under one set of facts, keeping what does not change between them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pathtrace.tracer.collecting import COLLECTOR
from pathtrace.tracer.eval.machine import Machine
from pathtrace.tracer.eval.slots import NUMBERING
from pathtrace.tracer.eval.sources import Sources
from pathtrace.tracer.eval.values import ABSENT, Unknown
from pathtrace.tracer.launch.open_text import is_open, shown, waits_for
from pathtrace.tracer.launch_files import LaunchFiles
from pathtrace.tracer.requirements import Present, required_packages
from pathtrace.tracer.stages import Run, run_launch
from pathtrace.tracer.tree.model import Tree
from pathtrace.tracer.verdict import Verdict, verdict

RECURSION = 20_000


@dataclass(frozen=True)
class Inputs:
    """What one evaluation starts from.

    Attributes:
        argv: the launcher's words; not used where ``kwargs`` is given.
        kwargs: keyword arguments of ``Engine(...)``, or None.
        open_kwargs: those whose values are not known.
        environ: variables of the server; a value may have pieces that are not stated, as may a word.
        serve: whether ``argv`` are words of ``sglang serve``.
        perhaps: variables that may be set to anything by what is not read.
    """

    argv: tuple[str, ...]
    environ: Mapping[str, str]
    kwargs: Mapping[str, Any] | None = None
    serve: bool = False
    open_kwargs: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()


@dataclass
class Evaluated:
    """An evaluation: valid until the evaluator's next one."""

    machine: Machine
    run: Run
    verdict: Verdict
    inputs: Inputs


@dataclass
class Evaluator:
    """Evaluates launches; modules that are read and run stay so.

    Attributes:
        tree: the tree.
        facts: facts about the machine.
        files: the files that the launch names.
        entered: files of the tree of which a function has run, in any evaluation.
    """

    tree: Tree
    facts: Mapping[str, Any]
    files: LaunchFiles
    sources: Sources = field(init=False)
    count: int = 0
    entered: set[str] = field(default_factory=set)
    _machine: Machine | None = None

    def __post_init__(self) -> None:
        self.sources = Sources(self.tree)
        self._present = Present(required_packages(self.tree))

    def evaluate(self, inputs: Inputs, whole: bool = True) -> Evaluated:
        """Evaluate one launch; not ``whole``: only the possible refusals of the chosen module's import."""
        self.count += 1
        machine = self._machine
        environ = variables_of(inputs.environ)
        loaded = () if machine is None else machine.load_reads.keys() & set(inputs.perhaps)
        if machine is None or loaded or not machine.reset(environ):
            machine = self._machine = Machine(self.sources, environ, self.facts)
            machine.entered = self.entered
        _open(machine, inputs.perhaps)
        machine.present |= {value.text for value in environ.values() if type(value) is Unknown}
        machine.present |= {
            shown(part) for word in inputs.argv for part in (word, word.partition("=")[2]) if is_open(part)
        }
        state = machine.external_state
        state["present"] = self._present
        state["config_for"] = self.files.config_for
        state["open_path"] = self.files.open_path
        state["config_class"] = self.files.config_class
        state["files"] = self.files.about
        state["read_file"] = self.files.text
        state["yaml"] = load_yaml
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, RECURSION))
        try:
            with COLLECTOR.paused(), NUMBERING.signed(1):
                run = run_launch(machine, inputs.argv, inputs.kwargs, inputs.open_kwargs, inputs.serve)
                machine.renew()  # what is read of it afterwards has a budget of its own
                return Evaluated(machine, run, verdict(machine, run, whole), inputs)
        finally:
            sys.setrecursionlimit(limit)


def variables_of(environ: Mapping[str, str]) -> Mapping[str, Any]:
    """The variables as the evaluated code finds them: one that is not stated is set, to something unknown."""
    return {
        name: Unknown(f"os.environ[{name!r}]", waits_for(value)) if is_open(value) else value
        for name, value in environ.items()
    }


def _open(m: Machine, names: Sequence[str]) -> None:
    """Variables that something may set which is not read: they are as they are, or anything."""
    for name in names:
        roots = frozenset({f"--env {name}=..."})
        value = Unknown(f"os.environ[{name!r}]", roots)
        m.present.add(value.text)
        test = m.conditions.atom(f"{name} comes from elsewhere", f"{name} is set outside of what is read", roots)
        m.environ.slots[name] = m.conditions.ite(test, value, m.environ.slots.get(name, ABSENT))


def load_yaml(text: str) -> Any:
    """A YAML document as the tree gets it: it calls PyYAML's ``safe_load``, and so does this.

    Raises:
        BadInput: the text is not YAML, or too deep.
    """
    import yaml

    from pathtrace.tracer.errors import BadInput

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise BadInput(
            f"the --config file is not YAML: {getattr(error, 'problem', None) or error}", line=line
        ) from error
    except (ValueError, RecursionError) as error:  # a date that no calendar has; a nesting without end
        raise BadInput(f"the --config file is not YAML that can be read: {type(error).__name__}") from error
