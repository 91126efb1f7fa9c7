"""llama.cpp as a backend. Only this file and `llama_batch` import llama_cpp; every return code is looked at."""

import ctypes
import os
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import llama_cpp as llama
import numpy as np
from llama_cpp._ggml import libggml
from numpy.typing import NDArray

from paceline.engine.backend import Capabilities, DecodeAborted, Hidden, Logits, Span, State
from paceline.engine.llama_batch import LlamaBatch, output_rows
from paceline.engine.readers import Readers
from paceline.engine.tree import branches
from paceline.engine.vocabulary import FimTokens, Vocabulary, suffix_first
from paceline.errors import EngineError, ModelError, ResourceError
from paceline.plan import Device, LoadOptions

WARNING, ERROR = 3, 4  # GGML_LOG_LEVEL_WARN, _ERROR
GPU_TYPES = (1, 2)  # GGML_BACKEND_DEVICE_TYPE_GPU, _IGPU
LONGEST_NAME = 256  # bytes of a name in the metadata that are looked at
KV_TYPES = {"f16": llama.GGML_TYPE_F16, "q8_0": llama.GGML_TYPE_Q8_0, "q4_0": llama.GGML_TYPE_Q4_0}


class _Log:
    """llama.cpp's log, which belongs to the process: kept from the terminal, the last complaints at hand."""

    def __init__(self) -> None:
        self.complaints: deque[tuple[int, str]] = deque(maxlen=20)  # level, line
        self._level = 0
        self.callback = llama.llama_log_callback(self._take)
        llama.llama_log_set(self.callback, ctypes.c_void_p(0))

    def _take(self, level: int, text: bytes, _: object) -> None:
        self._level = level if level != 5 else self._level  # 5 continues the line before
        if self._level >= WARNING and text.strip():
            self.complaints.append((self._level, text.decode(errors="replace").strip()))

    def first(self) -> str:
        """The first error since the log was cleared; the ones after it only say that something failed."""
        return next((line for level, line in self.complaints if level >= ERROR), self.last())

    def last(self) -> str:
        return self.complaints[-1][1] if self.complaints else "llama.cpp gave no reason"


_LOG = _Log()
llama.llama_backend_init()


class Model:
    """Weights (or the vocabulary alone) in memory."""

    def __init__(
        self,
        path: Path,
        options: LoadOptions,
        *,
        vocabulary_only: bool = False,
        keep_going: Callable[[], bool] = lambda: True,
    ) -> None:
        """Load a GGUF file. Raises ModelError when llama.cpp refuses it, DecodeAborted when `keep_going` says no."""
        params = llama.llama_model_default_params()
        params.n_gpu_layers = options.gpu_layers
        params.main_gpu = options.main_gpu
        params.vocab_only = vocabulary_only
        params.load_mode = llama.LLAMA_LOAD_MODE_MMAP if options.use_mmap else llama.LLAMA_LOAD_MODE_NONE
        if options.tensor_split:
            share = (ctypes.c_float * llama.llama_max_devices())(*options.tensor_split)
            params.tensor_split = share
        progress = llama.llama_progress_callback(lambda share, _: keep_going())
        params.progress_callback = progress
        _LOG.complaints.clear()
        self.path = path
        self.handle = llama.llama_model_load_from_file(os.fsencode(path), params)
        if not self.handle and not keep_going():
            raise DecodeAborted
        if not self.handle and any("alloc" in line for _, line in _LOG.complaints):
            raise ResourceError(
                f"there is not enough memory to load {path}: {_LOG.first()}",
                "take a smaller model, or end other programs",
            )
        if not self.handle:
            raise ModelError(
                f"llama.cpp cannot load {path}: {_LOG.first()}",
                "check the file with `paceline models info`; a newer llama-cpp-python may know its kind",
            )
        self._users = 1
        self._tokenizing = Readers()
        self.vocabulary = _read_vocabulary(self.handle, self._tokenizing, _names(self.handle, path))

    def share(self) -> "Model":
        """The same weights for one more context."""
        assert self.handle, "weights that were freed cannot be shared"
        self._users += 1
        return self

    def close(self) -> None:
        """One user less; the last one frees the weights."""
        self._users -= 1
        if self.handle and not self._users:
            self._tokenizing.close()
            llama.llama_model_free(self.handle)
            self.handle = None


class LlamaBackend:
    """A model with a context, as `engine.backend.Backend` asks for it."""

    def __init__(
        self,
        path: Path,
        options: LoadOptions,
        *,
        n_seq_max: int = 1,
        keep_going: Callable[[], bool] = lambda: True,
        weights: Model | None = None,
    ) -> None:
        """Load and create the context. `weights`: the file's, where another backend has loaded them.

        Raises ModelError, ResourceError, and DecodeAborted where `keep_going` ends it.

        Python code runs inside llama.cpp meanwhile (its log, `keep_going`), where an exception is lost: so not on the
        main thread if Ctrl-C is to arrive.
        """
        self._model = Model(path, options, keep_going=keep_going) if weights is None else weights.share()
        self._refuse_what_cannot_generate()
        self._context = self._create_context(options, n_seq_max)
        self._memory = llama.llama_get_memory(self._context)
        if not self._memory:
            self.close()
            raise ModelError(
                f"{path} cannot generate text: it has no cache, as embedding models do not",
                "choose a model made for chat or completion",
            )
        handle = self._model.handle
        self._capabilities = Capabilities(
            n_ctx=llama.llama_n_ctx(self._context),
            n_batch=llama.llama_n_batch(self._context),
            n_seq_max=n_seq_max,
            partial_removal=not (llama.llama_model_is_recurrent(handle) or llama.llama_model_is_hybrid(handle)),
            n_embd=llama.llama_model_n_embd(handle),
        )
        self._batch = LlamaBatch(self._capabilities.n_batch)
        self._hidden: Hidden | None = None
        self._n_vocab = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(handle))
        # llama.cpp polls the callback from the computing thread. A Python function would have to wait for the GIL each
        # time; strlen of a one-byte string is a C function that says whether that byte is set.
        self._flag = ctypes.create_string_buffer(2)
        stop = ctypes.cast(ctypes.CDLL(None).strlen, llama.ggml_abort_callback)
        llama.llama_set_abort_callback(self._context, stop, ctypes.cast(self._flag, ctypes.c_void_p))

    def _refuse_what_cannot_generate(self) -> None:
        """Encoders and embedding models have no cache to generate with, or need an input we do not give them."""
        handle = self._model.handle
        if llama.llama_model_has_encoder(handle) or not llama.llama_model_has_decoder(handle):
            self._model.close()
            raise ModelError(
                f"{self._model.path} cannot generate text: it is an encoder or embedding model",
                "choose a model made for chat or completion",
            )

    def _create_context(self, options: LoadOptions, n_seq_max: int) -> Any:  # noqa: ANN401 - a pointer
        params = llama.llama_context_default_params()
        params.n_ctx = options.n_ctx
        # llama.cpp ends the process where there are more sequences than tokens in a batch.
        params.n_batch = params.n_ubatch = max(min(options.n_batch, options.n_ctx), n_seq_max)
        params.n_seq_max = n_seq_max
        params.kv_unified = True
        params.pooling_type = llama.LLAMA_POOLING_TYPE_NONE  # hidden states come token by token
        params.n_threads = params.n_threads_batch = options.n_threads
        params.type_k = params.type_v = KV_TYPES[options.kv_type]
        params.flash_attn_type = (
            llama.LLAMA_FLASH_ATTN_TYPE_AUTO if options.flash_attention else llama.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        _LOG.complaints.clear()
        context = llama.llama_init_from_model(self._model.handle, params)
        if not context:
            self._model.close()
            raise ResourceError(
                f"llama.cpp cannot create a context of {options.n_ctx} tokens: {_LOG.first()}",
                "set engine.context to a smaller number in the configuration"
                + ("" if options.kv_type == "f16" else ', or engine.kv_type to "f16"'),
            )
        return context

    @property
    def weights(self) -> Model:
        """For another context on them."""
        return self._model

    @property
    def vocabulary(self) -> Vocabulary:
        """The model's tokens."""
        return self._model.vocabulary

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        return self._capabilities

    def decode(self, spans: Sequence[Span], *, hidden: bool = False) -> Logits:
        """llama_decode of the spans; rows of logits as a view. Raises DecodeAborted, EngineError.

        After either, a model that cannot drop its tail has lost the sequences of the spans.
        """
        outputs = self._batch.fill(spans, self._n_vocab)
        for span in spans:  # llama.cpp would refuse it too, but what the cache holds could not be told afterwards
            held = self._held(span.seq)
            if span.start != held:
                raise EngineError(f"position {span.start} after {held} tokens of sequence {span.seq}")
        self._hidden = None
        self._branch_off(spans)
        llama.llama_set_embeddings(self._context, hidden)
        code = llama.llama_decode(self._context, self._batch.struct)
        if code == 0:
            return self._read(spans, outputs, hidden)
        for span in spans:  # micro-batches that were done before the failure are still in the cache
            self.truncate(span.seq, span.start if self._capabilities.partial_removal else 0)
            self._drop_branches(span)
        if code == 2:
            raise DecodeAborted
        if code == 1:
            raise EngineError("the model's cache has no room for these tokens", "raise engine.context")
        raise EngineError(f"llama_decode failed with code {code}: {_LOG.last()}")

    def _read(self, spans: Sequence[Span], outputs: int, hidden: bool) -> Logits:
        """The rows of a decode. With hidden states every token has one; those that were not asked for are left out."""
        if not outputs:
            llama.llama_synchronize(self._context)
            return np.empty((0, self._n_vocab), np.float32)
        rows = sum(len(span.tokens) for span in spans) if hidden else outputs
        pointer = llama.llama_get_logits(self._context)  # waits for the computation
        if not pointer:
            raise EngineError("llama.cpp computed no logits")
        logits = np.ctypeslib.as_array(pointer, (rows, self._n_vocab))
        if not hidden:
            return logits
        states = llama.llama_get_embeddings(self._context)
        if not states:
            raise EngineError("llama.cpp gave no hidden states")
        wanted = output_rows(spans)
        self._hidden = np.ctypeslib.as_array(states, (rows, self._capabilities.n_embd))[wanted]
        return logits if len(wanted) == rows else logits[wanted]

    def hidden_states(self) -> Hidden:
        """llama_get_embeddings of the last decode's rows. Raises EngineError when it was not asked to keep them."""
        if self._hidden is None:
            raise EngineError("the last decode kept no hidden states")
        return self._hidden

    def keep(self, span: Span, path: Sequence[int]) -> None:
        """Cut a tree to one path: llama_memory_seq_rm and, where it ends in another branch, llama_memory_seq_cp."""
        root = span.start + len(span.tokens) - len(span.parents)
        branch = branches(span.parents)[path[-1]][0] if path else 0
        if branch == 0:
            self.truncate(span.seq, root + len(path))
        else:
            self.truncate(span.seq, root)
            source = span.spare[branch - 1]
            llama.llama_memory_seq_cp(self._memory, source, span.seq, root, root + len(path))
        self._drop_branches(span)

    def _branch_off(self, spans: Sequence[Span]) -> None:
        """Each branch beyond the first begins as a copy of its span's sequence: only the table of cells is written."""
        for span in spans:
            for seq in span.branches:
                self.truncate(seq, 0)
                llama.llama_memory_seq_cp(self._memory, span.seq, seq, -1, -1)

    def _drop_branches(self, span: Span) -> None:
        for seq in span.branches:
            self.truncate(seq, 0)

    def _held(self, seq: int) -> int:
        """Tokens of a sequence in the cache (llama_memory_seq_pos_max). Raises EngineError: no such sequence."""
        if not 0 <= seq < self._capabilities.n_seq_max:
            raise EngineError(f"sequence {seq} where there are {self._capabilities.n_seq_max}")
        return int(llama.llama_memory_seq_pos_max(self._memory, seq)) + 1

    def truncate(self, seq: int, length: int) -> None:
        """llama_memory_seq_rm of everything behind `length`. Raises EngineError when the model cannot."""
        if not llama.llama_memory_seq_rm(self._memory, seq, length if length else -1, -1):
            raise EngineError(f"this model cannot drop the tail of a sequence (at {length} tokens)")

    def copy(self, source: int, destination: int, length: int) -> None:
        """llama_memory_seq_cp of the first `length` tokens into an emptied sequence."""
        self.truncate(destination, 0)
        llama.llama_memory_seq_cp(self._memory, source, destination, 0, length)

    def save(self, seq: int) -> State:
        """llama_state_seq_get_data. Raises EngineError."""
        size = llama.llama_state_seq_get_size(self._context, seq)
        buffer = np.empty(size, np.uint8)  # not zeroed, and not copied again: it may have hundreds of megabytes
        if llama.llama_state_seq_get_data(self._context, _pointer(buffer), size, seq) != size:
            raise EngineError("llama.cpp could not save a sequence")
        return buffer.data

    def restore(self, seq: int, state: State) -> None:
        """llama_state_seq_set_data. Raises EngineError when the state does not fit."""
        self.truncate(seq, 0)
        buffer = np.frombuffer(state, np.uint8)
        if llama.llama_state_seq_set_data(self._context, _pointer(buffer), len(state), seq) == 0:
            raise EngineError("llama.cpp could not restore a sequence")

    def abort(self, on: bool) -> None:
        """Make the running decode and later ones return at once, or let them run again."""
        self._flag[0] = b"\x01" if on else b"\x00"

    def close(self) -> None:
        """Free context and weights."""
        if self._context:
            llama.llama_free(self._context)
            self._context = None
            self._model.close()


def _pointer(buffer: NDArray[np.uint8]) -> Any:  # noqa: ANN401 - a pointer
    return buffer.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))


def read_vocabulary(path: Path) -> Vocabulary:
    """A file's vocabulary without its weights. It keeps the file's tables in memory. Raises ModelError."""
    return Model(path, LoadOptions(), vocabulary_only=True).vocabulary


def can_infill(path: Path) -> bool:
    """Whether a file's vocabulary has the tokens for filling in the middle. Keeps nothing. Raises ModelError."""
    model = Model(path, LoadOptions(), vocabulary_only=True)
    try:
        return model.vocabulary.fim() is not None
    finally:
        model.close()


def supports_gpu() -> bool:
    """Whether this build of llama.cpp can offload at all."""
    return bool(llama.llama_supports_gpu_offload())


def build_info() -> str:
    """Version of llama-cpp-python and what the build of llama.cpp makes use of."""
    return f"llama-cpp-python {llama.__version__}: {llama.llama_print_system_info().decode(errors='replace').strip()}"


def devices() -> list[Device]:
    """Accelerators that this build can use now (ggml_backend_dev_*)."""
    libggml.ggml_backend_dev_get.restype = ctypes.c_void_p
    libggml.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
    libggml.ggml_backend_dev_count.restype = ctypes.c_size_t
    for name in ("name", "description"):
        getattr(libggml, f"ggml_backend_dev_{name}").restype = ctypes.c_char_p
        getattr(libggml, f"ggml_backend_dev_{name}").argtypes = [ctypes.c_void_p]
    libggml.ggml_backend_dev_type.argtypes = [ctypes.c_void_p]
    libggml.ggml_backend_dev_memory.argtypes = [ctypes.c_void_p, *[ctypes.POINTER(ctypes.c_size_t)] * 2]
    libggml.ggml_backend_dev_memory.restype = None
    found: list[Device] = []
    for i in range(libggml.ggml_backend_dev_count()):
        device = libggml.ggml_backend_dev_get(i)
        if libggml.ggml_backend_dev_type(device) not in GPU_TYPES:
            continue
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        libggml.ggml_backend_dev_memory(device, ctypes.byref(free), ctypes.byref(total))
        name = libggml.ggml_backend_dev_name(device).decode(errors="replace")
        description = libggml.ggml_backend_dev_description(device).decode(errors="replace")
        found.append(Device(len(found), name, description, total.value, free.value))
    return found


def _names(model: object, path: Path) -> list[str]:
    """What a model is called: by its own metadata, and its file."""
    buffer, found = ctypes.create_string_buffer(LONGEST_NAME), [path.stem]
    for key in (b"general.name", b"general.basename", b"general.finetune"):
        if llama.llama_model_meta_val_str(model, key, buffer, LONGEST_NAME) > 0:
            found.append(buffer.value.decode(errors="replace"))
    return found


def _read_vocabulary(model: object, readers: Readers, names: Sequence[str]) -> Vocabulary:
    vocab = llama.llama_model_get_vocab(model)
    n_tokens = llama.llama_vocab_n_tokens(vocab)
    ids = range(n_tokens)
    template = llama.llama_model_chat_template(model, None)

    def known(token: int) -> int | None:
        return token if 0 <= token < n_tokens else None

    def encode(text: str, special: bool, bos: bool) -> list[int]:
        with readers.reading():
            return encode_held(text, special, bos)

    def encode_held(text: str, special: bool, bos: bool) -> list[int]:
        data = text.encode("utf-8", "surrogatepass")
        size = len(data) + 8
        buffer = (llama.llama_token * size)()
        n = llama.llama_tokenize(vocab, data, len(data), buffer, size, bos, special)
        if n < 0:  # it says how many it would have needed
            size = -n
            buffer = (llama.llama_token * size)()
            n = llama.llama_tokenize(vocab, data, len(data), buffer, size, bos, special)
        if n < 0:
            raise EngineError("llama.cpp could not tokenize the text")
        return list(buffer[:n])

    def piece(token: int) -> bytes:
        if token in control:
            return b""
        readers.check()
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            n = llama.llama_token_to_piece(vocab, token, buffer, size, 0, False)
            if n >= 0:
                return buffer.raw[:n]
            size = -n

    control = frozenset(t for t in ids if llama.llama_vocab_get_attr(vocab, t) & llama.LLAMA_TOKEN_ATTR_CONTROL)
    prefix, suffix, middle, pad, repository, separator = (
        known(getattr(llama, f"llama_vocab_fim_{name}")(vocab)) for name in ("pre", "suf", "mid", "pad", "rep", "sep")
    )

    def text(token: int) -> str:
        return str(llama.llama_vocab_get_text(vocab, token).decode(errors="replace"))

    fim = suffix_first({text(token): token for token in control}, names)  # which llama.cpp does not know
    if prefix is not None and suffix is not None and middle is not None:
        fim = FimTokens(prefix, suffix, middle, pad, repository, separator)
    return Vocabulary(
        n_tokens=n_tokens,
        encoder=encode,
        read_piece=piece,
        read_text=text,
        end_of_generation=frozenset(t for t in ids if llama.llama_vocab_is_eog(vocab, t))
        | (fim.markers if fim is not None else frozenset()),
        control=control,
        bos=known(llama.llama_vocab_bos(vocab)) if llama.llama_vocab_get_add_bos(vocab) else None,
        eos=known(llama.llama_vocab_eos(vocab)),
        fim_tokens=fim,
        chat_template=template.decode(errors="replace") if template else None,
    )
