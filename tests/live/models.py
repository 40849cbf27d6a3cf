"""Writes the models of the live servers: a tiny Llama as target, and two drafts for it.

Run by the environment's own interpreter: ``python models.py FOLDER``. Everything comes from one seed.

The target's answer to a token is mostly a permutation of the vocabulary, disturbed by what stands before it: greedy
output varies and does not fall into a cycle. The EAGLE3 draft knows the permutation and nothing of the disturbance,
the standalone draft is the target with noise: so both have some of their tokens accepted and others not.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

SEED = 20240917
# One head: Triton's interpreter takes as long for each.
HIDDEN, INNER, LAYERS, HEADS, WORDS = 64, 128, 2, 1, 1000
# How far layers move the target's hidden state away from its last token, and attention and MLP react to it.
DISTURBANCE = 1.35
NOISE = 0.05

CONFIG = {
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "intermediate_size": INNER,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "head_dim": HIDDEN // HEADS,
    "vocab_size": WORDS,
    "max_position_embeddings": 2048,
    "torch_dtype": "float32",
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "bos_token_id": 1,
    "eos_token_id": 2,
    "tie_word_embeddings": False,
}


def normal(*shape: int, std: float) -> torch.Tensor:
    return torch.randn(*shape) * std


def layer(width: int) -> dict[str, torch.Tensor]:
    """The weights of one layer whose attention reads ``width`` numbers."""
    return {
        "self_attn.q_proj.weight": normal(HIDDEN, width, std=1.5 / width**0.5),
        "self_attn.k_proj.weight": normal(HIDDEN, width, std=1.5 / width**0.5),
        "self_attn.v_proj.weight": normal(HIDDEN, width, std=1 / width**0.5),
        "self_attn.o_proj.weight": normal(HIDDEN, HIDDEN, std=DISTURBANCE / HIDDEN**0.5),
        "mlp.gate_proj.weight": normal(INNER, HIDDEN, std=1 / HIDDEN**0.5),
        "mlp.up_proj.weight": normal(INNER, HIDDEN, std=1 / HIDDEN**0.5),
        "mlp.down_proj.weight": normal(HIDDEN, INNER, std=DISTURBANCE * 2 / INNER**0.5),
        "input_layernorm.weight": torch.ones(HIDDEN),
        "post_attention_layernorm.weight": torch.ones(HIDDEN),
    }


def target() -> dict[str, torch.Tensor]:
    words = normal(WORDS, HIDDEN, std=1.0)
    weights = {"model.embed_tokens.weight": words, "lm_head.weight": words[torch.randperm(WORDS)].clone()}
    for number in range(LAYERS):
        weights |= {f"model.layers.{number}.{name}": value for name, value in layer(HIDDEN).items()}
    return {**weights, "model.norm.weight": torch.ones(HIDDEN)}


def eagle3(of: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Attention finds the last token by its likeness to itself and hands it to the target's own head."""
    token = torch.cat([torch.eye(HIDDEN), torch.zeros(HIDDEN, HIDDEN)], dim=1)
    midlayer = {
        **layer(2 * HIDDEN),
        "self_attn.q_proj.weight": 3 * token,
        "self_attn.k_proj.weight": token,
        "self_attn.v_proj.weight": token.clone(),
        "self_attn.o_proj.weight": 4 * torch.eye(HIDDEN),
        "mlp.down_proj.weight": torch.zeros(HIDDEN, INNER),
        "hidden_norm.weight": torch.ones(HIDDEN),
    }
    return {
        **{f"midlayer.{name}": value for name, value in midlayer.items()},
        "fc.weight": torch.cat([torch.eye(HIDDEN)] * 3, dim=1) / 3,
        "norm.weight": torch.ones(HIDDEN),
        "lm_head.weight": of["lm_head.weight"].clone(),
    }


def write(folder: Path, architecture: str, layers: int, weights: dict[str, torch.Tensor], **more: object) -> None:
    folder.mkdir(parents=True)
    config = {**CONFIG, "architectures": [architecture], "num_hidden_layers": layers, **more}
    (folder / "config.json").write_text(json.dumps(config, indent=1), "utf-8")
    save_file({name: value.contiguous() for name, value in weights.items()}, str(folder / "model.safetensors"))


def main() -> None:
    folder = Path(sys.argv[1])
    torch.manual_seed(SEED)
    weights = target()
    write(folder / "target", "LlamaForCausalLM", LAYERS, weights)
    write(folder / "eagle3", "LlamaForCausalLMEagle3", 1, eagle3(weights), draft_vocab_size=WORDS)
    noisy = {
        name: value + normal(*value.shape, std=NOISE * value.std().item()) if value.dim() == 2 else value
        for name, value in weights.items()
    }
    write(folder / "standalone", "LlamaForCausalLM", LAYERS, noisy)


if __name__ == "__main__":
    main()
