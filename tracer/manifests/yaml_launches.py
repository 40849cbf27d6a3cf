"""A YAML file of any kind -> its launches: Compose and Kubernetes are told apart by what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pathtrace.tracer.manifests.compose import launches_in_services
from pathtrace.tracer.manifests.kubernetes import is_manifest, launches_in_manifests
from pathtrace.tracer.manifests.model import Found
from pathtrace.tracer.manifests.yaml_document import read_documents
from pathtrace.tracer.manifests.yaml_nodes import Table


def launches_in_yaml(text: str, file: str, given: Mapping[str, str], folder: Path | None) -> list[Found]:
    """The launches of a YAML file; none where it is neither a Compose file nor Kubernetes manifests.

    Args:
        text: the file.
        file: its name, as it was given.
        given: variables that the user states.
        folder: where the file is; Compose reads other files beside it.

    Raises:
        BadInput: the file mentions SGLang and is no YAML that can be read.
    """
    source, documents = read_documents(text, file)
    manifests = [document for document in documents if is_manifest(document)]
    if manifests:
        return launches_in_manifests(source, manifests, given)
    if any(isinstance(document, Table) and isinstance(document.get("services"), Table) for document in documents):
        return launches_in_services(source, documents, given, folder)
    return []
