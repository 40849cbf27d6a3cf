"""SGLang's compiled operators for speculation and attention on the CPU, in plain torch: slow, and easy to read.

Names and order of arguments are the operators' own. Results go into the tensors that the caller hands over.
"""

from __future__ import annotations

import ctypes

import torch
from standins.absent import placeholder

# What a tree looks for to learn whether the CPU has the compiled operators' matrix unit: it has not.
NOT_THERE = frozenset({"convert_weight_packed"})
FULL_MASK = 0


def _numbers(values) -> list[int]:
    return values.reshape(-1).tolist() if torch.is_tensor(values) else list(values)


def assign_req_to_token_pool_cpu(req_pool_indices, req_to_token, start, end, out_cache_loc, pool_len):
    """Writes new cache places into the rows of their requests."""
    taken = 0
    for row, first, last in zip(*map(_numbers, (req_pool_indices, start, end)), strict=True):
        places = out_cache_loc[taken : taken + last - first]
        req_to_token[row, first:last] = places.to(req_to_token.dtype)
        taken += last - first


def assign_extend_cache_locs_cpu(req_pool_indices, req_to_token, start, end, out, pool_len):
    """Reads the cache places of a span of each request."""
    filled = 0
    for row, first, last in zip(*map(_numbers, (req_pool_indices, start, end)), strict=True):
        out[filled : filled + last - first] = req_to_token[row, first:last].to(out.dtype)
        filled += last - first


def assign_draft_cache_locs_contiguous_cpu(req_pool_indices, req_to_token, seq_lens, out, pool_len, topk, num_steps):
    """Reads the cache places that a draft of each request writes to."""
    size = topk * num_steps
    for number, (row, length) in enumerate(zip(*map(_numbers, (req_pool_indices, seq_lens)), strict=True)):
        out[number * size : (number + 1) * size] = req_to_token[row, length : length + size].to(out.dtype)


def build_draft_decode_metadata_cpu(req_to_token, req_pool_indices, seq_lens, topk, num_steps, pool_len):
    """For each branch of each request, the places of what it follows and of its own tokens."""
    rows, lengths = _numbers(req_pool_indices), _numbers(seq_lens)
    places = torch.zeros((len(rows) * topk, pool_len), dtype=req_to_token.dtype)
    for number, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        for branch in range(topk):
            own = length + branch * num_steps
            line = places[number * topk + branch]
            line[:length] = req_to_token[row, :length]
            line[length : length + num_steps] = req_to_token[row, own : own + num_steps]
    return places


def build_tree_kernel_efficient_cpu(
    parent_list,
    selected_index,
    verified_seq_len,
    tree_mask,
    positions,
    retrieve_index,
    retrieve_next_token,
    retrieve_next_sibling,
    topk,
    depth,
    draft_token_num,
    tree_mask_mode,
):
    """The tree of each request's draft: who may see whom, at which position, and how to walk it."""
    mask = tree_mask.view(-1)
    passed = 0
    for request, length in enumerate(_numbers(verified_seq_len)):
        parents = _parents(_numbers(selected_index[request]), _numbers(parent_list[request]), topk)
        for token in range(draft_token_num):
            ancestors = _ancestors(parents, token)
            if int(tree_mask_mode) == FULL_MASK:
                own = passed + (length + draft_token_num) * token + length
            else:
                own = draft_token_num * (draft_token_num * request + token)
            mask[own : own + draft_token_num] = False
            # The root is seen by all; a token sees itself and those that it follows.
            for seen in {0, token, *ancestors}:
                mask[own + seen] = True
            positions[request * draft_token_num + token] = length + len(ancestors)
            retrieve_index[request, token] = request * draft_token_num + token
        # From the last to the first, so that the walk begins with the likeliest.
        for token in range(draft_token_num - 1, 0, -1):
            parent = parents[token]
            retrieve_next_sibling[request, token] = retrieve_next_token[request, parent]
            retrieve_next_token[request, parent] = token
        passed += draft_token_num * (draft_token_num + length)


def _parents(selected: list[int], parents: list[int], topk: int) -> list[int]:
    """For each token of a draft, the token that it follows; the root, token 0, follows itself."""
    found = [0]
    for index in selected:
        group = index // topk
        found.append(selected.index(parents[group]) + 1 if group > 0 else 0)
    return found


def _ancestors(parents: list[int], token: int) -> list[int]:
    """What a token follows, the root included."""
    line = []
    while token != 0:
        token = parents[token]
        line.append(token)
    return line


def verify_tree_greedy_cpu(
    predicts,
    accept_index,
    accept_token_num,
    candidates,
    retrive_index,
    retrive_next_token,
    retrive_next_sibling,
    target_predict,
):
    """Follows the tree for as long as it says what the target says."""
    said = target_predict.reshape(-1)
    for request in range(candidates.shape[0]):
        place = int(retrive_index[request, 0])
        accept_index[request, 0] = place
        accepted = token = 0
        while accepted + 1 < accept_index.shape[1]:
            token = int(retrive_next_token[request, token])
            while token != -1 and int(candidates[request, token]) != int(said[place]):
                token = int(retrive_next_sibling[request, token])
            if token == -1:
                break
            predicts[place] = said[place]
            accepted += 1
            place = int(retrive_index[request, token])
            accept_index[request, accepted] = place
        accept_token_num[request] = accepted
        predicts[place] = said[place]


def fill_bonus_tokens_cpu(accept_tokens, accept_lens, bonus_tokens, stride):
    """The last accepted token of each request."""
    tokens = accept_tokens.reshape(-1)
    for request, length in enumerate(_numbers(accept_lens)):
        bonus_tokens[request] = tokens[request * stride + length - 1]


def fill_accept_out_cache_loc_cpu(accept_index, out_cache_loc, accept_out_cache_loc):
    """The cache places of accepted tokens, without gaps."""
    taken = accept_index.reshape(-1)
    taken = taken[taken >= 0].long()
    accept_out_cache_loc[: taken.numel()] = out_cache_loc[taken]


def copy_all_layer_kv_cache_cpu(data_ptrs, strides, tgt_loc, src_loc):
    """Moves rows of the cache in all layers, given by their addresses."""
    for start, size in zip(_numbers(data_ptrs.view(torch.int64)), _numbers(strides), strict=True):
        rows = [ctypes.string_at(start + place * size, size) for place in _numbers(src_loc)]
        for place, row in zip(_numbers(tgt_loc), rows, strict=True):
            ctypes.memmove(start + place * size, row, size)


def extend_attention_cpu(*args):
    """Attention of new tokens to what is cached and, as far as the mask lets them, to each other."""
    if not torch.is_tensor(args[6]):
        args = args[:6] + args[8:]  # two scales of a quantized cache
    query, key, value, out, keys, values, req_to_token, rows, lengths, new, starts, _, scaling = args[:13]
    masks = args[18] if len(args) > 18 else None
    key, value = key.view(key.shape[0], -1, query.shape[-1]), value.view(value.shape[0], -1, out.shape[-1])
    for request, (row, length, size, start) in enumerate(
        zip(*map(_numbers, (rows, lengths, new, starts)), strict=True)
    ):
        before, span = length - size, slice(start, start + size)
        cached = req_to_token[row, :before].long()
        own = torch.ones(size, size, dtype=torch.bool).tril()
        if masks is not None:
            own = masks.view(-1, size, size)[request].bool()
        mask = torch.cat([torch.ones(size, before, dtype=torch.bool), own], 1)
        seen_keys, seen_values = torch.cat([keys[cached], key[span]]), torch.cat([values[cached], value[span]])
        out[span] = _attention(query[span], seen_keys, seen_values, scaling, mask).to(out.dtype)


def decode_attention_cpu(*args):
    """Attention of one new token of each request to what is cached, itself included."""
    if not torch.is_tensor(args[3]):
        args = args[:3] + args[5:]
    query, keys, values, out, key, value, places, _, req_to_token, rows, lengths, scaling = args[:12]
    if key is not None:
        keys[places.long()] = key.view(-1, *keys.shape[1:]).to(keys.dtype)
        values[places.long()] = value.view(-1, *values.shape[1:]).to(values.dtype)
    for number, (row, length) in enumerate(zip(*map(_numbers, (rows, lengths)), strict=True)):
        cached = req_to_token[row, :length].long()
        found = _attention(query[number : number + 1], keys[cached], values[cached], scaling)
        out[number : number + 1] = found.to(out.dtype)


def _attention(query, key, value, scaling, mask=None):
    group = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(group, 1).float(), value.repeat_interleave(group, 1).float()
    scores = torch.einsum("nhd,mhd->hnm", query.float(), key) * scaling
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.einsum("hnm,mhd->nhd", scores.softmax(-1), value)


class Operators:
    """What ``torch.ops.sgl_kernel`` answers."""

    extend_attention_cpu = staticmethod(extend_attention_cpu)
    decode_attention_cpu = staticmethod(decode_attention_cpu)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") or name in NOT_THERE:
            raise AttributeError(name)
        return placeholder(f"torch.ops.sgl_kernel.{name}")
