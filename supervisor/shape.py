"""The shape of a server: how many processes, where it listens, what it runs, as far as its launch says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from pathtrace.instrument.assertion import BOTH_MODES, Rank

# As every tree spells them; what a tree adds or abbreviates is known once the static answer is there.
_FLAGS = {
    "--tensor-parallel-size": "tp_size",
    "--tp-size": "tp_size",
    "--tp": "tp_size",
    "--pipeline-parallel-size": "pp_size",
    "--pp-size": "pp_size",
    "--pp": "pp_size",
    "--data-parallel-size": "dp_size",
    "--dp-size": "dp_size",
    "--dp": "dp_size",
    "--enable-dp-attention": "enable_dp_attention",
    "--nnodes": "nnodes",
    "--node-rank": "node_rank",
    "--host": "host",
    "--port": "port",
    "--api-key": "api_key",
    "--ssl-certfile": "ssl_certfile",
    "--skip-server-warmup": "skip_server_warmup",
    "--skip-tokenizer-init": "skip_tokenizer_init",
    "--disaggregation-mode": "disaggregation_mode",
}
_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


@dataclass(frozen=True)
class Shape:
    """What of a launch the supervisor has to know, named as the tree's own fields."""

    tp_size: int = 1
    pp_size: int = 1
    dp_size: int = 1
    enable_dp_attention: bool = False
    nnodes: int = 1
    node_rank: int = 0
    host: str = "127.0.0.1"
    port: int = 30000
    api_key: str | None = None
    ssl_certfile: str | None = None
    skip_server_warmup: bool = False
    skip_tokenizer_init: bool = False
    disaggregation_mode: str = "null"

    @property
    def data(self) -> int:
        """Replicas with processes of their own: attention data parallelism adds none."""
        return 1 if self.enable_dp_attention else self.dp_size

    @property
    def modes(self) -> frozenset[str]:
        """The modes that the server runs."""
        mode = self.disaggregation_mode
        return frozenset({mode}) if mode in BOTH_MODES else BOTH_MODES

    @property
    def address(self) -> tuple[str, int]:
        """Where to reach the server from its own machine."""
        host = self.host.strip("[]")
        return _ANY_ADDRESS.get(host, host), self.port

    def local_ranks(self) -> frozenset[Rank] | None:
        """The ranks of this node that build a worker, None for all there are: laid out as the trees do."""
        if self.nnodes == 1:
            return None
        stages_here = max(self.pp_size // self.nnodes, 1)
        nodes_of_stage = max(self.nnodes // self.pp_size, 1)
        parts_here = self.tp_size // nodes_of_stage
        first_stage = stages_here * (self.node_rank // nodes_of_stage)
        first_part = parts_here * (self.node_rank % nodes_of_stage)
        return frozenset(
            Rank(data, stage, part)
            for data in range(self.data)
            for stage in range(first_stage, first_stage + stages_here)
            # With pipeline parallel speculation the last stage alone builds a worker.
            if stage == self.pp_size - 1
            for part in range(first_part, first_part + parts_here)
        )

    def resolved(self, values: Mapping[str, Any]) -> Shape:
        """This shape with what the tree's own resolution makes of it; values of another kind are left out."""
        kept: dict[str, Any] = {}
        for field in fields(self):
            value = values.get(field.name)
            default = field.default
            if default is None:
                if value is None or isinstance(value, str):
                    kept[field.name] = value if field.name in values else getattr(self, field.name)
            elif type(value) is type(default) and _is_possible(field.name, value):
                kept[field.name] = value
        return replace(self, **kept)


def shape_of(words: Sequence[str]) -> Shape:
    """The shape that the words of a command state; what they leave out is as in every tree by default."""
    values: dict[str, Any] = {}
    for index, word in enumerate(words):
        flag, equals, attached = word.partition("=")
        name = _FLAGS.get(flag)
        if name is None:
            continue
        default = getattr(Shape, name)
        if isinstance(default, bool):
            values[name] = True
            continue
        text = attached if equals else (words[index + 1] if index + 1 < len(words) else "")
        if isinstance(default, int):
            if text.isascii() and text.isdigit() and len(text) < 10:
                values[name] = int(text)
        else:
            values[name] = text
    return Shape().resolved(values)


def _is_possible(name: str, value: Any) -> bool:
    if name.endswith("_size") or name == "nnodes":
        return bool(1 <= value <= 65536)
    return not isinstance(value, int) or 0 <= value <= 65535
