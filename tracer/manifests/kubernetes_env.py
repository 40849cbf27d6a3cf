"""The environment of a Kubernetes container: ``env``, ``envFrom`` and what is known of ConfigMaps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pathtrace.tracer.launch.open_text import is_open, opened
from pathtrace.tracer.manifests.command import Written
from pathtrace.tracer.manifests.interpolation import fill_kubernetes
from pathtrace.tracer.manifests.model import Spot
from pathtrace.tracer.manifests.yaml_document import Source
from pathtrace.tracer.manifests.yaml_nodes import Node, Scalar, Sequence, Table, Visits

_NAME = re.compile(r"[A-Za-z_.-][\w.-]*", re.ASCII)
_SERVICE = re.compile(
    r"[A-Z0-9_]+_SERVICE_(?:HOST|PORT)(?:_\w+)?|[A-Z0-9_]+_PORT(?:_\d+_(?:TCP|UDP|SCTP)\w*)?", re.ASCII
)


@dataclass
class ContainerEnv:
    """Variables of one container, in the order in which Kubernetes sets them.

    Attributes:
        source: the file.
        config_maps: the ConfigMaps of the file, by name.
        given: what the user states; it counts where the manifest leaves a value to the cluster.
        injected: whether a controller may set variables that the manifest does not show.
        visits: how many nodes may still be visited.
        values: the variables.
        notes: what was taken for granted.
        missing: sources of variables that are not in the file.
    """

    source: Source
    config_maps: Mapping[str, Table]
    given: Mapping[str, str]
    injected: bool
    visits: Visits
    values: dict[str, Written] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def read(self, container: Table) -> None:
        """Set the variables of a container."""
        for item in _items(container.get("envFrom")):
            self.visits.spend()
            if isinstance(item, Table):
                self._take_all(item)
        for item in _items(container.get("env")):
            self.visits.spend()
            if isinstance(item, Table) and item.text("name"):
                self._set(item.text("name"), item)

    def fill(self, written: Written) -> Written:
        """A word with its ``$(NAME)`` filled in."""
        return fill_kubernetes(written, self._reference)

    def fill_shell_text(self, written: Written) -> Written:
        """Text for a shell, with what is stated filled in; the shell leaves the rest of ``$(NAME)`` open."""
        return fill_kubernetes(written, self._stated)

    def _stated(self, name: str) -> str | None:
        known = self.values.get(name)
        if known is not None:
            return None if is_open(known.text) else known.text
        return self.given.get(name) if self._may_be_set(name) else None

    def _may_be_set(self, name: str) -> bool:
        """Whether something that the manifest does not show may set a variable."""
        unseen = bool(self.missing) or self.injected or _SERVICE.fullmatch(name) is not None
        return unseen and _NAME.fullmatch(name) is not None

    def _reference(self, name: str) -> str | None:
        """What stands for ``$(NAME)``; None where it stays as it is."""
        known = self.values.get(name)
        if known is not None:
            return known.text
        if self._may_be_set(name):
            return self.given.get(name, opened(f"$({name})"))
        note = f"`$({name[:80]})` stays as it is in Kubernetes, as {name[:80]} is not set there"
        if _NAME.fullmatch(name) and note not in self.notes:
            self.notes.append(note)
        return None

    def _take_all(self, item: Table) -> None:
        prefix = item.text("prefix")
        for kind, key in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
            reference = item.get(key)
            if not isinstance(reference, Table):
                continue
            name = reference.text("name")
            config_map = self.config_maps.get(name) if kind == "ConfigMap" else None
            if config_map is None:
                self.missing.append(f"the {kind} {name}")
                # A later source wins, so what is set so far may be another value.
                for variable, value in list(self.values.items()):
                    self._unknown(variable, value.spot)
                continue
            for variable, entry in _data(config_map).items():
                self.visits.spend()
                if isinstance(entry, Scalar):
                    self.values[prefix + variable] = self.source.written(entry)

    def _set(self, name: str, item: Table) -> None:
        value, elsewhere = item.get("value"), item.get("valueFrom")
        if isinstance(value, Scalar):
            if not value.is_text:
                self.notes.append(f"the value of {name[:80]} is no text, which Kubernetes refuses; put it in quotes")
            self.values[name] = self.fill(self.source.written(value))
        elif isinstance(elsewhere, Table):
            self._set_from(name, elsewhere)
        elif value is not None or elsewhere is not None:
            self._unknown(name, item.spot)
        else:
            place = item.entries.get("value", item.entries["name"])
            self.values[name] = Written("", place.spot)

    def _set_from(self, name: str, elsewhere: Table) -> None:
        reference = elsewhere.get("configMapKeyRef")
        config_map = self.config_maps.get(reference.text("name")) if isinstance(reference, Table) else None
        if config_map is None or not isinstance(reference, Table):
            self._unknown(name, elsewhere.spot)
            return
        value = _data(config_map).get(reference.text("key"))
        if isinstance(value, Scalar):
            self.values[name] = self.source.written(value)
        elif reference.text("optional") == "true":
            self.values.pop(name, None)
        else:
            holder, key = reference.text("name")[:80], reference.text("key")[:80]
            self.notes.append(f"the ConfigMap {holder} has no {key}, which {name[:80]} needs")
            self._unknown(name, elsewhere.spot)

    def _unknown(self, name: str, spot: Spot) -> None:
        """A variable whose value the cluster has; a Secret's is never read, even where the file has it."""
        self.values[name] = Written(self.given.get(name, opened(f"$({name})")), spot)


def _items(node: Node | None) -> tuple[Node, ...]:
    return node.items if isinstance(node, Sequence) else ()


def _data(config_map: Table) -> Mapping[str, Node]:
    data = config_map.get("data")
    return data.entries if isinstance(data, Table) else {}
