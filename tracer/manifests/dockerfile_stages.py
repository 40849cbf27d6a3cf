"""The stages of a Dockerfile: what each one sets, on top of the stage or image that it starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.open_text import is_open, shown
from pathtrace.tracer.manifests.command import Written
from pathtrace.tracer.manifests.dockerfile_lines import Instruction, Lines
from pathtrace.tracer.manifests.dockerfile_variables import Substitution, Value
from pathtrace.tracer.manifests.dockerfile_words import Setting, arg_settings, env_settings, exec_words
from pathtrace.tracer.manifests.model import Spot

_MAX_STAGES = 200
_MAX_COPIED = 1 << 20


@dataclass(frozen=True)
class Command:
    """A ``CMD`` or ``ENTRYPOINT``: its words, the shell's own first where it has the shell form."""

    words: tuple[Written, ...]
    in_shell: bool
    spot: Spot


@dataclass
class Stage:
    """A stage, as far as it has been read.

    Attributes:
        name: as ``FROM ... AS`` names it; empty without.
        number: its place among the stages, from 0.
        image: the image at the bottom, which no stage of the file builds.
        own_command: whether the stage itself has a ``CMD`` or ``ENTRYPOINT``.
        own_cmd: whether it has a ``CMD``.
    """

    name: str
    number: int
    image: str
    env: dict[str, tuple[Value, Spot]] = field(default_factory=dict)
    args: dict[str, Value | None] = field(default_factory=dict)
    shell: tuple[str, ...] = ("/bin/sh", "-c")
    cmd: Command | None = None
    entrypoint: Command | None = None
    notes: tuple[str, ...] = ()
    own_command: bool = False
    own_cmd: bool = False


def read_stages(lines: Lines, given: Mapping[str, str]) -> list[Stage]:
    """The stages in order, each with all that it has at its end.

    Args:
        lines: the lines of the file.
        given: values that the user states; they stand for build arguments too.

    Raises:
        BadInput: an instruction that Docker refuses, or more than the limits allow.
    """
    reading = _Reading(lines, given)
    for instruction in lines.instructions():
        reading.read(instruction)
    return reading.stages


class _Reading:
    def __init__(self, lines: Lines, given: Mapping[str, str]) -> None:
        self.lines = lines
        self.given = given
        self.stages: list[Stage] = []
        self.named: dict[str, Stage] = {}
        self.before: dict[str, Value | None] = {}
        self.substitution = Substitution(lines.escape, lines.file)
        self.copied = 0

    def read(self, instruction: Instruction) -> None:
        """Apply one instruction to the stage that is being read."""
        keyword = instruction.keyword
        if keyword == "FROM":
            self._from(instruction)
        elif not self.stages:
            if keyword == "ARG":
                for setting in arg_settings(instruction, self.lines):
                    self.before[self._name(setting, None)] = self._argument(setting, None, instruction.line)
        elif keyword == "ENV":
            self._env(instruction)
        elif keyword == "ARG":
            stage = self.stages[-1]
            for setting in arg_settings(instruction, self.lines):
                stage.args[self._name(setting, stage)] = self._argument(setting, stage, instruction.line)
        elif keyword in ("CMD", "ENTRYPOINT", "SHELL"):
            self._command(instruction)

    def _from(self, instruction: Instruction) -> None:
        words = [word for word in instruction.argument.text.split() if not word.startswith("--")]
        if not words:
            raise BadInput("FROM names no image; write FROM IMAGE", self.lines.file, instruction.line)
        if len(self.stages) == _MAX_STAGES:
            raise BadInput(f"has over {_MAX_STAGES} stages; split the file", self.lines.file, instruction.line)
        name = words[2] if len(words) > 2 and words[1].lower() == "as" else ""
        image = self.substitution.value(words[0], lambda name: self._known(name, None), instruction.line)
        base = self.named.get(image.text.lower())
        stage = Stage(name, len(self.stages), shown(image.text), notes=tuple(sorted(image.notes)))
        if base is not None:
            self.copied += len(base.env) + len(base.args)
            if self.copied > _MAX_COPIED:
                raise BadInput("its stages pass on too many variables; split the file", self.lines.file)
            stage.image, stage.shell, stage.notes = base.image, base.shell, base.notes
            stage.env, stage.args = dict(base.env), dict(base.args)
            stage.cmd, stage.entrypoint = base.cmd, base.entrypoint
        self.stages.append(stage)
        if name:
            self.named[name.lower()] = stage

    def _env(self, instruction: Instruction) -> None:
        stage = self.stages[-1]
        # All words of one ENV see the variables as they were before it.
        new = {}
        for setting in env_settings(instruction, self.lines):
            name = self._name(setting, stage)
            if is_open(name) or not name:
                stage.notes += (f"the variable that `ENV {setting.name.text}` sets is not known",)
                continue
            value = self._value(setting.value or "", stage, instruction.line)
            new[name] = value, setting.name.spot
        stage.env.update(new)

    def _command(self, instruction: Instruction) -> None:
        stage = self.stages[-1]
        argument = instruction.argument
        words = exec_words(argument, self.lines.file, instruction.line)
        if instruction.keyword == "SHELL":
            if not words:
                raise BadInput(
                    'SHELL takes a list; write it as SHELL ["/bin/bash", "-c"]', self.lines.file, instruction.line
                )
            stage.shell = tuple(word.text for word in words)
            return
        in_shell = words is None and argument.text != ""
        if words is None:
            words = [Written(word, argument.spot) for word in stage.shell] + [argument] if in_shell else []
        command = Command(tuple(words), in_shell, argument.spot) if words else None
        stage.own_command = True
        if instruction.keyword == "CMD":
            stage.cmd, stage.own_cmd = command, True
            return
        stage.entrypoint = command
        if not stage.own_cmd:
            stage.cmd = None

    def _argument(self, setting: Setting, stage: Stage | None, line: int) -> Value | None:
        name = self._name(setting, stage)
        if name in self.given:
            return Value(self.given[name])
        if setting.value is None:
            return None if stage is None else self.before.get(name)
        value = self._value(setting.value, stage, line)
        note = f"ARG {name} is taken as its default {shown(value.text)!r}; --env {name}=... says otherwise"
        return Value(value.text, value.notes | {note})

    def _name(self, setting: Setting, stage: Stage | None) -> str:
        name = setting.name.text
        if name.isidentifier():
            return name
        return self._value(name, stage, setting.name.spot.line).text

    def _value(self, source: str, stage: Stage | None, line: int) -> Value:
        return self.substitution.value(source, lambda name: self._known(name, stage), line)

    def _known(self, name: str, stage: Stage | None) -> Value | None:
        if stage is None:
            known = self.before.get(name)
        elif name in stage.env:
            known = stage.env[name][0]
        else:
            known = stage.args.get(name)
        if known is None and name in self.given:
            return Value(self.given[name])
        return known
