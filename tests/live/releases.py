"""Which kernels a release needs on the CPU, and which transformers it was written against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Release:
    """What a release needs.

    Attributes:
        kernels: ``interpreted`` where speculation knows CUDA alone: its Triton kernels run in Triton's interpreter;
            ``native`` where the tree has operators for the CPU, which torch stands in for.
        packages: laid before the environment's own packages; none where those fit.
    """

    kernels: Literal["interpreted", "native"]
    packages: tuple[str, ...] = ()


RELEASES = {
    "0.5.9": Release("interpreted", ("transformers==4.57.1", "huggingface_hub==0.36.0")),
    "0.5.12.post1": Release("interpreted", ("transformers==5.6.0",)),
    "0.5.14": Release("interpreted"),
    "0.5.18": Release("native"),
    "0.5.23": Release("native", ("transformers==5.19.0", "tokenizers==0.23.2")),
}
