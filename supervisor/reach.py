"""Whether the hook reaches a server's processes, through which carrier, and why it may not."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pathtrace.instrument import SITE_FOLDER
from pathtrace.instrument.starting import OLDEST
from pathtrace.supervisor.environment import PYTHONPATH
from pathtrace.supervisor.interpreter import CONTAINERS, Starts, interpreter_of

Level = Literal["ok", "note", "fails"]
PLUGINS = "SGLANG_PLUGINS"
PLUGIN_NAME = "pathtrace"
_MARK = "pathtrace-doctor:"
_PATIENCE_S = 120

# It runs in the user's own interpreter, started as the server would be; nothing of SGLang is imported.
_SCRIPT = f"""
import json, os, sys
from importlib import metadata, util
def version(name):
    try:
        __import__(name)
        return getattr(sys.modules[name], "__version__", "")
    except Exception as problem:
        return [str(problem)]
found = util.find_spec("sglang")
folders = list(found.submodule_search_locations or []) if found else []
try:
    points = metadata.entry_points(group="sglang.srt.plugins")
except TypeError:
    points = metadata.entry_points().get("sglang.srt.plugins", [])
starting = sys.modules.get("pathtrace.instrument.starting")
print({_MARK!r} + json.dumps(dict(
    version=list(sys.version_info[:3]),
    site=bool(sys.__dict__.get("_pathtrace_site")),
    carrier=starting.carrier() if starting else None,
    sitecustomize=getattr(sys.modules.get("sitecustomize"), "__file__", None),
    wrapt=version("wrapt"),
    folders=folders,
    plugins=any(os.path.isdir(os.path.join(each, "srt", "plugins")) for each in folders),
    points=[point.name for point in points],
)))
"""


@dataclass(frozen=True)
class Sign:
    """One thing that was looked at.

    Attributes:
        level: ``ok``, ``note`` for what is worth knowing, ``fails`` for what keeps the hook away.
        text: one sentence.
    """

    level: Level
    text: str


def signs_in_command(words: Sequence[str], environ: Mapping[str, str]) -> list[Sign]:
    """What in the command itself keeps the hook away; nothing is run."""
    starts = interpreter_of(words, environ)
    found = [Sign("fails", text) for text in _flag_faults(starts)]
    return found + [Sign("fails", text) for text in _wrapper_faults(starts)]


def look(words: Sequence[str], environ: Mapping[str, str]) -> list[Sign]:
    """Everything that decides whether the hook reaches the server, the server's own Python asked.

    Args:
        words: the server's command.
        environ: its environment, with the hook in it.
    """
    starts = interpreter_of(words, environ)
    if starts.python is None:
        unknown = f"{starts.why_unknown}: whether the hook reaches it is not known"
        return [*signs_in_command(words, environ), Sign("note", unknown)]
    signs = [Sign("ok", f"the command starts {starts.python}")]
    said = _ask(starts, environ)
    if isinstance(said, str):
        return [*signs, *signs_in_command(words, environ), Sign("fails", said)]
    signs += _about_interpreter(starts, said)
    plugin, plugin_signs = _plugin(said, environ)
    blocked, stripped = _flag_faults(starts), _wrapper_faults(starts)
    signs += [Sign("fails", text) for text in stripped]
    is_reached = said["site"] and said["carrier"] == "sitecustomize"
    if is_reached and not stripped:
        signs.append(Sign("ok", f"carrier sitecustomize: {SITE_FOLDER} comes first on PYTHONPATH and was run"))
    elif blocked:
        # Another carrier that works makes these worth knowing and no more.
        signs += [Sign("note" if plugin else "fails", text) for text in blocked]
    elif not stripped:
        text = f"carrier sitecustomize: {starts.python} did not run {SITE_FOLDER}/sitecustomize.py"
        signs.append(Sign("note" if plugin else "fails", text))
    if said["sitecustomize"] and os.path.dirname(str(said["sitecustomize"])) != SITE_FOLDER:
        effect = "it is run after ours" if is_reached else "it is run in place of ours"
        signs.append(Sign("note", f"there is another sitecustomize, {said['sitecustomize']}: {effect}"))
    return signs + plugin_signs


def _flag_faults(starts: Starts) -> list[str]:
    meaning = {
        "I": "-I has Python ignore PYTHONPATH",
        "E": "-E has Python ignore PYTHONPATH",
        "S": "-S keeps Python from running any sitecustomize",
    }
    return [
        f"carrier sitecustomize: {text}, in the processes that it spawns too; leave -{flag} out of the command"
        for flag, text in meaning.items()
        if flag in starts.flags
    ]


def _wrapper_faults(starts: Starts) -> list[str]:
    words = starts.before
    names = [os.path.basename(word) for word in words]
    found = []
    if "env" in names:
        options = words[names.index("env") + 1 :]
        if any(each in ("-i", "-", "--ignore-environment") for each in options):
            found.append("env -i takes the hook's variables away; set variables without it")
        pairs = zip(options, [*options[1:], ""], strict=True)
        if any((a, b) == ("-u", "PYTHONPATH") or a in ("-uPYTHONPATH", "--unset=PYTHONPATH") for a, b in pairs):
            found.append("env -u PYTHONPATH takes the hook's folder away; leave it out")
    for word in words:
        name, equals, value = word.partition("=")
        if name == PYTHONPATH and equals and SITE_FOLDER not in value.split(os.pathsep):
            found.append(f"{word} takes the hook's folder away; put it in front of the whole command")
    if "sudo" in names and not any(word == "-E" or word.startswith("--preserve-env") for word in words):
        found.append("sudo takes the hook's variables away; run `sudo pathtrace run -- ...` instead")
    for name in names:
        if name in CONTAINERS:
            found.append(
                f"{name} passes no variables on; put pathtrace into what it starts, before the server's command"
            )
    if "srun" in names:
        exports = [word for word in words if word.startswith("--export=")]
        exports += [f"--export={b}" for a, b in zip(words, words[1:], strict=False) if a == "--export"]
        if any(not each.partition("=")[2].upper().startswith("ALL") for each in exports):
            found.append("srun --export passes only named variables on; write --export=ALL,... in front of yours")
    return found


def _ask(starts: Starts, environ: Mapping[str, str]) -> dict[str, Any] | str:
    """What the interpreter says of itself, or why it says nothing."""
    assert starts.python is not None
    flags = [f"-{flag}" for flag in sorted(starts.flags & set("EIPSs"))]
    try:
        done = subprocess.run(
            [starts.python, *flags, "-c", _SCRIPT],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as problem:
        return f"{starts.python} could not be run: {problem}"
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        if line.startswith(_MARK):
            said: dict[str, Any] = json.loads(line[len(_MARK) :])
            return said
    last = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"{starts.python} did not answer: {last[-1][:300] if last else 'no output'}"


def _about_interpreter(starts: Starts, said: Mapping[str, Any]) -> list[Sign]:
    version = ".".join(map(str, said["version"]))
    needed = ".".join(map(str, OLDEST))
    signs = [Sign("ok", f"it is Python {version}")]
    if tuple(said["version"][:2]) < OLDEST:
        signs = [Sign("fails", f"it is Python {version}; the hook needs {needed} or later")]
    wrapt = said["wrapt"]
    if isinstance(wrapt, list):
        text = f"it cannot import wrapt ({wrapt[0]}); install it there: {starts.python} -m pip install wrapt"
        signs.append(Sign("fails", text))
    else:
        signs.append(Sign("ok", f"it has wrapt {wrapt}".rstrip()))
    if not said["folders"]:
        signs.append(Sign("fails", "it has no package sglang: this is not the interpreter that runs the server"))
    return signs


def _plugin(said: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[bool, list[Sign]]:
    """Whether the tree's own plugins carry the hook, and what there is to say about it."""
    if not said["plugins"]:
        return False, [Sign("note", "carrier plugin: this SGLang has no plugins")] if said["folders"] else []
    if PLUGIN_NAME not in said["points"]:
        text = "carrier plugin: pathtrace is not installed beside SGLang; sitecustomize is the carrier"
        return False, [Sign("note", text)]
    allowed = environ.get(PLUGINS)
    if allowed and PLUGIN_NAME not in {name.strip() for name in allowed.split(",")}:
        return False, [Sign("note", f"carrier plugin: {PLUGINS}={allowed} leaves {PLUGIN_NAME} out; add it there")]
    return True, [Sign("ok", "carrier plugin: SGLang loads pathtrace itself")]
