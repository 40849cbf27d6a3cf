"""The model that a table is made for where none is given: dense, without hooks of its own in any tree.

A tree's hooks go by ``architectures`` and ``model_type``; the sizes are those of a small Llama, so that
no check of a shape fails.
"""

from __future__ import annotations

from typing import Any

_SIZES: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128256, "max_position_embeddings": 8192,
    "hidden_act": "silu", "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16", "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
PLAIN_MODEL = {**_SIZES, "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 32}
PLAIN_DRAFT = {**_SIZES, "architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "draft_vocab_size": 32000}
