"""Tiny language models made on the spot: Llama's architecture, random weights, a tokenizer of a few words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TEXT = [
    "book a train to Bonn and send the ticket to Ben by mail tomorrow at nine",
    '{"outcome": "plan", "reason": "", "task_nodes": [{"task": "send_mail", "arguments": []}], "value": 12}',
    ' /send_mail(to="ben@example.org", text="hello") /find_contact(name="Ben") /book_train(seats=2) none',
]


def make_llama(
    folder: Path, *, seed: int = 0, width: int = 32, n_context: int = 4096, template: str | None = None
) -> Path:
    """A model folder as `save_pretrained` writes it; by default the chat form shows the last message alone."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<pad>", "<s>", "</s>", "<plan>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT * 4, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        additional_special_tokens=["<plan>"],
    )
    fast.chat_template = template or "{{ bos_token }}{{ messages[-1]['content'] }}<plan>"
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=n_context,
        tie_word_embeddings=True,
        initializer_range=0.3,
        bos_token_id=fast.bos_token_id,
        eos_token_id=fast.eos_token_id,
        pad_token_id=fast.pad_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def make_gguf(folder: Path, path: Path) -> Path:
    """The model in `folder` as a GGUF file, weights in float32."""
    import gguf
    import numpy as np
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    config = model.config
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    _add_tokenizer(writer, tokenizer)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight":  # tied
            continue
        weights: Any = tensor.float().numpy()
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            # llama.cpp turns neighbouring pairs, transformers halves: as the usual converters do.
            shape = weights.shape
            halves = weights.reshape(
                config.num_attention_heads, 2, shape[0] // config.num_attention_heads // 2, shape[1]
            )
            weights = np.ascontiguousarray(halves.swapaxes(1, 2).reshape(shape))
        writer.add_tensor(str(names.get_name(name, try_suffixes=(".weight",))), weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_tokenizer(writer: Any, tokenizer: Any) -> None:
    import json

    import gguf

    words = [tokenizer.convert_ids_to_tokens(i) for i in range(len(tokenizer))]
    control = set(tokenizer.all_special_tokens)
    kinds = [int(gguf.TokenType.CONTROL if word in control else gguf.TokenType.NORMAL) for word in words]
    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(words)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_add_bos_token(False)
    writer.add_chat_template(tokenizer.chat_template)
