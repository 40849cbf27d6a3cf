"""Launches in a Compose file: the command of every service, as Compose puts it together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.environment import read_env_file
from pathtrace.tracer.launch.model import Unseen
from pathtrace.tracer.launch.open_text import is_open, opened, shown
from pathtrace.tracer.manifests.command import Written, is_wholly_open, launches_of, with_unseen
from pathtrace.tracer.manifests.compose_words import split_command
from pathtrace.tracer.manifests.filling import Filling
from pathtrace.tracer.manifests.interpolation import ComposeValues
from pathtrace.tracer.manifests.model import Found, UnreadLaunch
from pathtrace.tracer.manifests.yaml_document import Source, mentions_server, read_documents
from pathtrace.tracer.manifests.yaml_nodes import Node, Scalar, Sequence, Table, Visits

_SAME_WHEN_PRINTED = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]*[1-9])?|true|false")
_LOST_BACKSLASH = re.compile(r"\\[ \n]")
_MERGE_TAGS = ("!override", "!reset")


def launches_in_compose(text: str, file: str, given: Mapping[str, str], folder: Path | None) -> list[Found]:
    """The launches of a Compose file's services.

    Args:
        text: the file.
        file: its name, as it was given.
        given: variables that the user states; they stand for the shell in which Compose runs.
        folder: where the file is, for ``.env`` and ``env_file``; None where it is in no folder.

    Raises:
        BadInput: the file is no YAML that can be read.
    """
    source, documents = read_documents(text, file)
    return launches_in_services(source, documents, given, folder)


def launches_in_services(
    source: Source, documents: list[Node], given: Mapping[str, str], folder: Path | None
) -> list[Found]:
    """The launches of documents that are read already."""
    found: list[Found] = []
    visits = Visits(source.file)
    beside, notes = _beside(folder) if documents else ({}, [])
    for document in documents:
        services = document.get("services") if isinstance(document, Table) else None
        if not isinstance(services, Table):
            continue
        for name, service in services.entries.items():
            if isinstance(service, Table) and _mentions(service, visits):
                values = ComposeValues(given, beside, list(notes))
                found += _Service(source, service, f"services.{name}", values, folder, visits).launches()
    return found


def _beside(folder: Path | None) -> tuple[dict[str, str], list[str]]:
    path = None if folder is None else folder / ".env"
    if path is None or not path.is_file():
        return {}, []
    try:
        return {name: value for name, value, _ in read_env_file(path) if value is not None}, []
    except BadInput as error:
        return {}, [f"the .env file beside the Compose file is not read ({error.message})"]


def _mentions(node: Node, visits: Visits) -> bool:
    """Whether a service has to do with SGLang at all."""
    visits.spend()
    if isinstance(node, Scalar):
        return mentions_server(node.text)
    if isinstance(node, Sequence):
        return any(_mentions(item, visits) for item in node.items)
    return any(mentions_server(key) or _mentions(value, visits) for key, value in node.entries.items())


@dataclass
class _Service:
    source: Source
    table: Table
    name: str
    values: ComposeValues
    folder: Path | None
    visits: Visits
    env: dict[str, Written] = field(default_factory=dict)
    forwarded: set[str] = field(default_factory=set)
    unseen: list[str] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        return self.values.notes

    def launches(self) -> list[Found]:
        try:
            return self._launches()
        except BadInput as error:
            return [self._unread(error.message, self.table.get("command"))]

    def _launches(self) -> list[Found]:
        extends = self.table.get("extends")
        if extends is not None:
            if self.table.get("command") is None and self.table.get("entrypoint") is None:
                return [
                    self._unread(
                        "the command comes from the service that this one extends, which is not followed; give the "
                        "output of `docker compose config`",
                        extends,
                    )
                ]
            self.unseen.append("the service that this one extends")
        repeated = [key for key in self.table.repeated if key in ("command", "entrypoint", "environment", "env_file")]
        self.notes.extend(
            f"`{key}` stands twice in the service, which Compose refuses; the last counts" for key in repeated
        )
        entry = self._words("entrypoint")
        words = entry + self._words("command")
        if not words:
            return []
        self._env_files(self.table.get("env_file"))
        self._environment(self.table.get("environment"))
        if not entry and words[0].text.startswith("-"):
            self.notes.append("the image's entry point is taken to start the server")
        found = launches_of(
            words,
            self.env,
            name=self.name,
            file=self.source.file,
            spot=self.table.spot,
            given=self.values.given,
            notes=self.notes,
            forwarded=frozenset(self.forwarded - self.env.keys()),
        )
        return with_unseen(found, Unseen(tuple(self.unseen)))

    def _unread(self, reason: str, node: Node | None) -> UnreadLaunch:
        return UnreadLaunch(self.name, self.source.file, (node or self.table).spot, reason)

    def _words(self, key: str) -> list[Written]:
        node = self.table.get(key)
        if node is None or getattr(node, "tag", "") == "!reset":
            return []
        if isinstance(node, Scalar):
            return self._split(key, node)
        if not isinstance(node, Sequence):
            raise BadInput(f"{key} is a mapping, which Compose refuses; write a list of words")
        words: list[Written] = []
        for item in node.items:
            self.visits.spend()
            if not isinstance(item, Scalar):
                raise BadInput(f"{key} holds a list or mapping where a word should be; write each word as text")
            if not item.is_text:
                self.notes.append(f"`{item.text}` in {key} is no text, which Compose refuses; put it in quotes")
            words.append(self._filled(item))
        return words

    def _split(self, key: str, node: Scalar) -> list[Written]:
        text = self._filled(node)
        if _LOST_BACKSLASH.search(text.text):
            self.notes.append(
                f"a backslash in {key} continues no line: Compose keeps what follows it as part of a word"
            )
        words, dropped = split_command(text)
        if dropped:
            self.notes.append(f"Compose reads {key} only up to `{shown(dropped)[:20].strip()}`, as no shell runs it")
        for before, word in pairwise(words):
            # A value is put in before the command is split, so one without quotes may be several words.
            if is_wholly_open(word.text) and word.spot == word.at(0) and before.text.startswith("--"):
                self.notes.append(f"{shown(word.text)[:80]} is taken as the one value of {before.text[:80]}")
        return words

    def _filled(self, node: Scalar) -> Written:
        return self.values.fill(self.source.written(node))

    def _env_files(self, node: Node | None) -> None:
        for item in node.items if isinstance(node, Sequence) else [] if node is None else [node]:
            entry: Node | None = item.get("path") if isinstance(item, Table) else item
            if not isinstance(entry, Scalar):
                continue
            path = self._filled(entry)
            optional = isinstance(item, Table) and item.text("required") == "false"
            if self.folder is None or is_open(path.text):
                self.unseen.append(f"the env_file {shown(path.text)[:80]}")
                continue
            if optional and not (self.folder / path.text).is_file():
                continue
            try:
                settings = read_env_file(self.folder / path.text)
            except BadInput as error:
                self.unseen.append(f"the env_file {path.text[:80]} ({error.message})")
                continue
            for name, value, _ in settings:
                self._put(name, None if value is None else Written(value, path.spot), path)

    def _environment(self, node: Node | None) -> None:
        for name, value, entry in self._settings(node):
            self.visits.spend()
            self._put(name, value, entry)

    def _settings(self, node: Node | None) -> Iterator[tuple[str, Written | None, Written]]:
        if isinstance(node, Sequence):
            for item in node.items:
                if isinstance(item, Scalar):
                    yield self._listed(self._filled(item))
        elif isinstance(node, Table):
            for name, value in node.entries.items():
                if isinstance(value, Scalar):
                    written = None if value.is_null else self._printed(value)
                    yield name, written, Written(name, value.spot)
        elif node is not None:
            raise BadInput("environment is neither a mapping nor a list; write NAME: value")

    def _listed(self, setting: Written) -> tuple[str, Written | None, Written]:
        name, equals, value = setting.text.partition("=")
        if not equals:
            return name, None, setting
        filling = Filling(setting)
        filling.keep(len(name) + 1, len(setting.text))
        return name, Written(value, setting.spot, filling.done().runs), setting

    def _printed(self, value: Scalar) -> Written:
        """A value as Compose prints it: a number such as ``010`` or ``1e3`` comes out differently."""
        if value.is_text or _SAME_WHEN_PRINTED.fullmatch(value.text):
            return self._filled(value)
        self.notes.append(f"Compose may print the number {value.text[:40]} differently; put it in quotes")
        return Written(opened(value.text), value.spot)

    def _put(self, name: str, value: Written | None, entry: Written) -> None:
        """Set a variable, or pass the caller's on; a later one takes the place of an earlier one."""
        known = None if value is not None else self.values.value(name)
        if value is None and known is not None:
            value = Written(known, entry.spot)
        if value is None:
            self.env.pop(name, None)
            self.forwarded.add(name)
        else:
            self.env[name] = value
