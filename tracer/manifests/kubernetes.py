"""Launches in Kubernetes manifests: the command of every container, whatever kind holds it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.model import Unseen
from pathtrace.tracer.launch.open_text import is_open
from pathtrace.tracer.manifests.command import Written, launches_of, shell_text, with_unseen
from pathtrace.tracer.manifests.kubernetes_env import ContainerEnv
from pathtrace.tracer.manifests.model import Found, UnreadLaunch
from pathtrace.tracer.manifests.yaml_document import Source, mentions_server, read_documents
from pathtrace.tracer.manifests.yaml_nodes import Node, Scalar, Sequence, Table, Visits

_LISTS = ("initContainers", "containers", "ephemeralContainers")
# Their controllers set no variables of their own; all others may (LWS_LEADER_ADDRESS, RANK, ...).
_PLAIN_KINDS = frozenset(
    ("Pod", "PodTemplate", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController")
)
_SHELL_STYLE = re.compile(r"\$\{[A-Za-z_]\w*\}", re.ASCII)


@dataclass(frozen=True)
class _Container:
    """A container, what holds it, and the keys on the way to it."""

    table: Table
    kind: str
    holder: str
    path: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.kind}/{self.holder} {self.table.text('name')}".strip()

    @property
    def long_name(self) -> str:
        """The name with the keys that tell it from another of the same name."""
        return f"{self.kind}/{self.holder} {'.'.join(self.path)} {self.table.text('name')}".strip()


def launches_in_kubernetes(text: str, file: str, given: Mapping[str, str]) -> list[Found]:
    """The launches of the containers of a file's manifests.

    Args:
        text: the file, of one or more documents.
        file: its name, as it was given.
        given: variables that the user states; they count where a manifest leaves a value to the cluster.

    Raises:
        BadInput: the file is no YAML that can be read.
    """
    source, documents = read_documents(text, file)
    return launches_in_manifests(source, documents, given)


def launches_in_manifests(source: Source, documents: list[Node], given: Mapping[str, str]) -> list[Found]:
    """The launches of documents that are read already."""
    visits = Visits(source.file)
    manifests = [each for document in documents for each in _manifests(document, visits)]
    config_maps = {_name(each): each for each in manifests if each.text("kind") == "ConfigMap"}
    containers = [
        _Container(table, each.text("kind"), _name(each), path)
        for each in manifests
        for path, table in _containers(each, (), visits)
    ]
    names = Counter(container.name for container in containers)
    found: list[Found] = []
    for container in containers:
        env = ContainerEnv(source, config_maps, given, container.kind not in _PLAIN_KINDS, visits)
        name = container.name if names[container.name] == 1 else container.long_name
        found += _launches(container.table, env, name)
    return found


def is_manifest(node: Node) -> bool:
    """Whether a document is a Kubernetes object."""
    return (
        isinstance(node, Table) and isinstance(node.get("kind"), Scalar) and isinstance(node.get("apiVersion"), Scalar)
    )


def _manifests(node: Node, visits: Visits) -> Iterator[Table]:
    """The objects of a document: itself, or the items of a List."""
    visits.spend()
    if not isinstance(node, Table) or not is_manifest(node):
        return
    items = node.get("items")
    if node.text("kind").endswith("List") and isinstance(items, Sequence):
        for item in items.items:
            yield from _manifests(item, visits)
    else:
        yield node


def _name(manifest: Table) -> str:
    metadata = manifest.get("metadata")
    return (metadata.text("name") or metadata.text("generateName")) if isinstance(metadata, Table) else ""


def _containers(node: Node, path: tuple[str, ...], visits: Visits) -> Iterator[tuple[tuple[str, ...], Table]]:
    """Containers anywhere below a node; the depth of a document is bounded."""
    visits.spend()
    if isinstance(node, Sequence):
        for item in node.items:
            yield from _containers(item, path, visits)
    if not isinstance(node, Table):
        return
    for key, value in node.entries.items():
        if key not in _LISTS or not isinstance(value, Sequence):
            yield from _containers(value, (*path, key), visits)
            continue
        for item in value.items:
            visits.spend()
            if isinstance(item, Table) and item.entries.keys() & {"image", "command", "args"}:
                yield path, item


def _launches(container: Table, env: ContainerEnv, name: str) -> list[Found]:
    file = env.source.file
    try:
        env.read(container)
        words, names_program = _words(container, env)
        if not words:
            return []
        if not names_program and words[0].text.startswith("-"):
            env.notes.append("the image's entry point is taken to start the server")
        for key in ("command", "args", "env", "envFrom"):
            if key in container.repeated:
                env.notes.append(f"`{key}` stands twice in the container; the last counts")
        found = launches_of(
            words, env.values, name=name, file=file, spot=container.spot, given=env.given, notes=env.notes
        )
        return with_unseen(found, Unseen(tuple(env.missing)))
    except BadInput as error:
        if env.visits.left < 0:
            raise
        return [UnreadLaunch(name, file, container.spot, error.message)]


def _words(container: Table, env: ContainerEnv) -> tuple[list[Written], bool]:
    """The words of a container's process, and whether the container names its program."""
    command, arguments = (_listed(container, key, env) for key in ("command", "args"))
    raw = [env.source.written(item) for item in command + arguments]
    text = shell_text([word.text for word in raw])
    words = [env.fill_shell_text(word) if index == text else env.fill(word) for index, word in enumerate(raw)]
    for index, word in enumerate(words):
        match = None if index == text or is_open(word.text) else _SHELL_STYLE.search(word.text)
        if match is not None:
            env.notes.append(f"`{match.group()[:80]}` stays as it is: Kubernetes fills in only $(NAME)")
    return words, bool(command)


def _listed(container: Table, key: str, env: ContainerEnv) -> list[Scalar]:
    node = container.get(key)
    if node is None:
        return []
    if not isinstance(node, Sequence):
        if isinstance(node, Scalar) and not mentions_server(node.text) and not is_open(node.text):
            return []
        raise BadInput(f"{key} is no list, which Kubernetes refuses; write a list of words")
    words: list[Scalar] = []
    for item in node.items:
        env.visits.spend()
        if not isinstance(item, Scalar):
            raise BadInput(f"{key} holds a list or mapping where a word should be; write each word as text")
        if not item.is_text:
            env.notes.append(f"`{item.text[:80]}` in {key} is no text, which Kubernetes refuses; put it in quotes")
        words.append(item)
    return words
