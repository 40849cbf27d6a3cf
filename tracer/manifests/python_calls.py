"""The launches in Python: ``Engine(...)`` calls, and servers that ``subprocess`` starts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.calls import engine_call
from pathtrace.tracer.launch.model import Launch
from pathtrace.tracer.launch.open_text import opened
from pathtrace.tracer.manifests.command import Written, launches_of
from pathtrace.tracer.manifests.model import Found, FoundLaunch, UnreadLaunch
from pathtrace.tracer.manifests.pieces import Pieces
from pathtrace.tracer.manifests.python_source import Call, Source

_LIMIT = 1 << 20
_MAX_LAUNCHES = 1000
_ENGINE = re.compile(
    r"\b(?:sglang|sgl)(?:\.\w+){0,8}\.Engine\b|\bfrom[ \t]+sglang[\w.]*[ \t]+import\b[^;]{0,300}?\bEngine\b"
)
_ENVIRONMENT = re.compile(r"\b(?:environ|putenv)\b")
_STARTERS = frozenset("subprocess." + name for name in ("Popen", "run", "call", "check_call", "check_output"))
_OWN_ENVIRONMENT = "the file sets or reads environment variables in Python, which is not followed; --env states them"


def launches_in_python(text: str, file: str, given: Mapping[str, str]) -> list[Found]:
    """The launches of a Python file, each named by the function that it stands in.

    Args:
        text: the source.
        file: its path, as it was given.
        given: variables that the user states with ``--env`` and ``--env-file``.

    Raises:
        BadInput: a file that uses SGLang's Engine and is no valid Python, over 1 MB, or over 1000 launches.
    """
    if "sglang" not in text or not ("Engine" in text or "subprocess" in text):
        return []
    if len(text) > _LIMIT:
        raise BadInput("is over 1 MB, too long for Python that starts a server; give a smaller file", file)
    try:
        source = Source(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if not _ENGINE.search(text):
            return []
        reason = getattr(error, "msg", None) or type(error).__name__
        line = getattr(error, "lineno", None)
        raise BadInput(f"is not valid Python ({reason}); correct it", file, line) from None
    reading = _Reading(source, file, given, (_OWN_ENVIRONMENT,) if _ENVIRONMENT.search(text) else ())
    found: list[Found] = []
    for call in source.calls:
        found += reading.launches(call)
        if len(found) > _MAX_LAUNCHES:
            raise BadInput(f"has over {_MAX_LAUNCHES} launches; give a file with fewer", file)
    return found


@dataclass(frozen=True)
class _Reading:
    source: Source
    file: str
    given: Mapping[str, str]
    notes: tuple[str, ...]

    def launches(self, call: Call) -> list[Found]:
        """The launches of one call, mostly none."""
        function = self.source.dotted(call.node.func)
        if function is None:
            return []
        if function.endswith(".Engine") and function.partition(".")[0] in ("sglang", "sgl"):
            return [self._engine(call)]
        return self._process(call) if function in _STARTERS else []

    def _engine(self, call: Call) -> Found:
        spot = self.source.spot(call.node)
        arguments = self.source.written_behind(call.node.func, call.node)
        try:
            keywords = engine_call("Engine" + arguments.lstrip(") \t\n\\"))
        except BadInput as error:
            return UnreadLaunch(call.within, self.file, spot, error.message)
        kwargs, unread = keywords if keywords is not None else ({}, ("...",))
        launch = Launch(entry="engine", kwargs=kwargs, unparsed=unread, open_kwargs=unread)
        return FoundLaunch(call.within, self.file, spot, launch, notes=self.notes)

    def _process(self, call: Call) -> list[Found]:
        keywords = {keyword.arg: keyword.value for keyword in call.node.keywords}
        command = call.node.args[0] if call.node.args else keywords.get("args")
        if command is None:
            return []
        words = self._in_shell(command) if _is_true(keywords.get("shell")) else list(self._words(command))
        if not any("sglang" in word.text for word in words):
            return []
        env, only, notes = self._environment(keywords.get("env"))
        found = launches_of(
            words,
            env,
            name=call.within,
            file=self.file,
            spot=self.source.spot(call.node),
            given=self.given,
            notes=(*self.notes, *notes),
            isolated=False,
        )
        return [_outside_none(each) for each in found] if only else found

    def _in_shell(self, command: ast.expr) -> list[Written]:
        text = isinstance(command, ast.JoinedStr) or (
            isinstance(command, ast.Constant) and isinstance(command.value, str)
        )
        if not text:
            return []
        spot = self.source.spot(command)
        return [Written("/bin/sh", spot), Written("-c", spot), self._word(command)]

    def _words(self, command: ast.expr) -> Iterator[Written]:
        """The words of a literal list, and of lists that are added to one."""
        parts = [command]
        while isinstance(parts[-1], ast.BinOp) and isinstance(parts[-1].op, ast.Add):
            added = parts.pop()
            assert isinstance(added, ast.BinOp)
            parts += [added.right, added.left]
        for part in reversed(parts):
            if isinstance(part, (ast.List, ast.Tuple)):
                yield from map(self._word, part.elts)
            else:
                yield Written(opened(self.source.written(part)), self.source.spot(part))

    def _word(self, node: ast.expr) -> Written:
        spot = self.source.spot(node)
        pieces = Pieces(spot)
        if self.source.dotted(node) == "sys.executable":
            return Written("python", spot)
        for piece in node.values if isinstance(node, ast.JoinedStr) else [node]:
            if isinstance(piece, ast.Constant) and isinstance(piece.value, str):
                text = piece.value.replace("\0", "\ufffd")
            elif isinstance(piece, ast.FormattedValue):
                # Before Python 3.12 the parts of an f-string have no places of their own.
                text = opened(f"{{{_unparsed(piece.value)}}}")
            else:
                text = opened(self.source.written(piece))
            pieces.add(text, spot, moves=False)
        return pieces.written()

    def _environment(self, node: ast.expr | None) -> tuple[dict[str, Written], bool, tuple[str, ...]]:
        """The variables of ``env=``, whether they are all, and what is not known of them."""
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return {}, False, ()
        if not isinstance(node, ast.Dict):
            return {}, False, (f"the variables in env={self.source.written(node)[:60]} are not known",)
        env: dict[str, Written] = {}
        only, notes = True, []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                only = False
                inner = value.func if isinstance(value, ast.Call) else value
                if self.source.dotted(inner) not in ("os.environ", "os.environ.copy"):
                    notes.append(f"the variables in **{self.source.written(value)[:60]} are not known")
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                env[key.value] = replace(self._word(value), spot=self.source.spot(key))
            else:
                notes.append(f"the variable that {self.source.written(key)[:60]} names is not known")
        return env, only, tuple(notes)


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _unparsed(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except RecursionError:
        return "..."


def _outside_none(found: Found) -> Found:
    if isinstance(found, UnreadLaunch):
        return found
    return replace(found, launch=replace(found.launch, outside="none"))
