"""The launches that the images of a Dockerfile start."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.manifests.command import Written, launches_of
from pathtrace.tracer.manifests.dockerfile_lines import Lines
from pathtrace.tracer.manifests.dockerfile_stages import Command, Stage, read_stages
from pathtrace.tracer.manifests.model import Found, UnreadLaunch

_LIMIT = 2 << 20
_BROKEN_LIST = re.compile(r"\[(?:[\"'\u2018-\u201f]|.*\]\Z)", re.DOTALL)
_BROKEN = (
    "the list is no valid JSON, so Docker gives its text to a shell; put each word in double quotes, with a "
    "comma between them and nothing behind the list"
)
_MODEL_FLAGS = frozenset(["--model-path", "--model", "--config"])


def launches_in_dockerfile(text: str, file: str, given: Mapping[str, str]) -> list[Found]:
    """The launch of the last stage, and of each other stage with a ``CMD`` or ``ENTRYPOINT`` of its own.

    Args:
        text: the Dockerfile.
        file: its path, as it was given.
        given: variables that the user states with ``--env`` and ``--env-file``; they stand for build
            arguments too.

    Raises:
        BadInput: a file that ``docker build`` refuses, or one over 2 MB.
    """
    if len(text) > _LIMIT:
        raise BadInput("is over 2 MB, too long for a Dockerfile; give a smaller file", file)
    if "\0" in text:
        raise BadInput("is binary; give a text file", file)
    stages = read_stages(Lines(text.removeprefix("\ufeff"), file), given)
    found: list[Found] = []
    for stage in stages:
        if stage.own_command or stage is stages[-1]:
            found += _launches_of_stage(stage, stage is stages[-1], file, given)
    return found


def _launches_of_stage(stage: Stage, last: bool, file: str, given: Mapping[str, str]) -> list[Found]:
    main = stage.entrypoint or stage.cmd
    if main is None:
        return []
    name = f"stage {stage.name or stage.number}" if stage.name or not last else ""
    words = list(main.words)
    if stage.entrypoint and stage.cmd and not stage.entrypoint.in_shell:
        words += stage.cmd.words
    broken = _broken_list(main)
    if broken is not None:
        return [UnreadLaunch(name, file, broken.spot, _BROKEN)] if "sglang" in broken.text else []
    if stage.entrypoint is None and words[0].text.startswith("-"):
        return _flags_alone(stage, words, name, file)
    env = {variable: Written(value.text, spot) for variable, (value, spot) in stage.env.items()}
    found = launches_of(
        words, env, name=name, file=file, spot=main.spot, given=given, notes=_notes(stage), isolated=True
    )
    if stage.entrypoint and not stage.entrypoint.in_shell and not stage.cmd:
        return [_with_model(each) for each in found]
    return found


def _broken_list(command: Command) -> Written | None:
    """The text of a command that was meant as a list and is none."""
    text = command.words[-1]
    return text if command.in_shell and _BROKEN_LIST.match(text.text) else None


def _flags_alone(stage: Stage, words: list[Written], name: str, file: str) -> list[Found]:
    """A ``CMD`` of flags for the program that the base image starts."""
    ours = "sglang" in stage.image or any(word.text.partition("=")[0] == "--model-path" for word in words)
    if not ours:
        return []
    reason = f"the flags go to the entry point of {stage.image}, which is not known; write it as ENTRYPOINT"
    return [UnreadLaunch(name, file, words[0].spot, reason)]


def _with_model(found: Found) -> Found:
    """An entry point without a model gets it from ``docker run``, and what else is not known."""
    if isinstance(found, UnreadLaunch) or found.launch.entry not in ("launch_server", "serve"):
        return found
    if any(word.partition("=")[0] in _MODEL_FLAGS for word in found.launch.argv):
        return found
    reason = "the model and other flags come from `docker run`; give the whole command, or add them as CMD"
    return UnreadLaunch(found.name, found.file, found.spot, reason)


def _notes(stage: Stage) -> tuple[str, ...]:
    base = "variables" if stage.entrypoint else "variables and the entry point"
    of_values = sorted({note for value, _ in stage.env.values() for note in value.notes})
    return (f"the {base} of the base image {stage.image} are not known", *stage.notes, *of_values)
