"""Run by an interpreter that has transformers: compare what the reader says with the real classes.

Prints one line for each disagreement, and the figures last.
"""

import contextlib
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

from pathtrace.tracer.configs.config_source import ConfigClassReader

ASKED = (
    "architectures", "attention_chunk_size", "compression_config", "draft_vocab_size", "dtype",
    "eagle_config", "first_k_dense_replace", "head_dim", "index_topk", "is_encoder_decoder", "layer_types",
    "llm_config", "moe_intermediate_size", "n_routed_experts", "num_experts", "num_hidden_layers",
    "num_local_experts", "num_nextn_predict_layers", "q_lora_rank", "quantization_config", "rope_scaling",
    "rope_theta", "sliding_window", "text_config", "tie_word_embeddings", "torch_dtype", "vision_config",
)  # fmt: skip

reader = ConfigClassReader(Path(transformers.__file__).parent)
read = values = absent = wrong = 0
for model_type in list(CONFIG_MAPPING_NAMES):
    known = reader.find(model_type)
    made = None
    with contextlib.suppress(Exception):  # some classes cannot be made of nothing
        made = CONFIG_MAPPING[model_type].from_dict({"model_type": model_type})
    if known is None or made is None:
        continue
    read += 1
    for key, default in known.defaults.items():
        values += 1
        if key != "model_type" and repr(getattr(made, key, "no such attribute")) != repr(default.value):
            wrong += 1
            print(model_type, key, repr(default.value)[:60], repr(getattr(made, key, None))[:60])
    for key, other in known.aliases.items():
        if getattr(made, key, None) != getattr(made, other, None):
            wrong += 1
            print(model_type, key, "is not", other)
    for key in {*ASKED, *dir(made)}:
        if known.lacks(key):
            absent += 1
            if hasattr(made, key):
                wrong += 1
                print(model_type, "has", key)
print(f"{transformers.__version__}: {read} classes, {values} values, {absent} absent keys, {wrong} wrong")
sys.exit(wrong > 0 or read < 100)
