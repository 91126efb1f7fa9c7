"""What the routes take: the documented fields of OpenAI's API and of llama.cpp's server, and our own.

Unknown fields are ignored, as both originals do. Sampling methods that the engine does not have (mirostat, dry, xtc,
typical, dynamic temperature, an order of samplers) are among those: they change the taste of an answer, not its form.
`null` means what leaving the field out means.
"""

from typing import Annotated, Any, Literal

import msgspec

from paceline.config import Speculation

Whole = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Count = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Natural = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Seed = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Token = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Choices = Annotated[int, msgspec.Meta(ge=1, le=128)]
Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
Temperature = Annotated[float, msgspec.Meta(ge=0, le=10)]
Penalty = Annotated[float, msgspec.Meta(ge=-100, le=100)]
Text = Annotated[str, msgspec.Meta(max_length=256)]
Stops = Annotated[list[str], msgspec.Meta(max_length=256)]
Object = dict[str, Any]
BiasObject = Annotated[dict[str, float | bool], msgspec.Meta(max_length=65536)]  # by token id or text; false bans
BiasPairs = Annotated[list[tuple[int | str, float | bool]], msgspec.Meta(max_length=65536)]


class DraftWish(msgspec.Struct, frozen=True, kw_only=True):
    """A drafter, and how many tokens it drafts in a round, at most."""

    drafter: Speculation = "auto"
    length: Annotated[int, msgspec.Meta(ge=1, le=64)] | None = None


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """What every generating route takes."""

    model: str | None = None  # ignored: there is one
    stream: bool | None = None
    stop: str | Stops | None = None
    seed: Seed | None = None  # negative: a random one
    temperature: Temperature | None = None
    top_k: Whole | None = None  # 0 or less: off
    top_p: Fraction | None = None
    min_p: Fraction | None = None
    repeat_penalty: Annotated[float, msgspec.Meta(ge=0.01, le=10)] | None = None
    repeat_last_n: Annotated[int, msgspec.Meta(ge=-1, le=2**31 - 1)] | None = None  # -1: the whole context
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    logit_bias: BiasObject | BiasPairs | None = None
    ignore_eos: bool | None = None
    grammar: str | None = None  # GBNF
    json_schema: Object | None = None
    t_max_prompt_ms: float | None = None  # 0 or less: no limit
    t_max_predict_ms: float | None = None  # from the first token to the end of a line; 0 or less: no limit
    return_progress: bool | None = None
    speculation: Speculation | DraftWish | None = None
    strict: bool | None = None  # near-ties are decided as plain decoding would, whoever drafts
    tell_drafts: bool | None = None  # pieces of a stream say who drafted them
    priority: Literal["completion", "chat", "prefetch", "background"] | None = None
    supersedes: Text | None = None


class StreamOptions(msgspec.Struct, frozen=True, kw_only=True):
    """OpenAI's options of a stream."""

    include_usage: bool | None = None


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a message's content. Only parts of type "text" are understood."""

    type: str
    text: str | None = None


class CalledFunction(msgspec.Struct, frozen=True, kw_only=True):
    """A function that the model called; the arguments are JSON."""

    name: str
    arguments: str = "{}"


class CalledTool(msgspec.Struct, frozen=True, kw_only=True):
    """A call in an earlier answer."""

    function: CalledFunction
    id: str | None = None
    type: Literal["function"] = "function"


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One turn."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[Part] | None = None
    tool_calls: list[CalledTool] | None = None
    tool_call_id: str | None = None
    name: str | None = None


Messages = Annotated[list[ChatMessage], msgspec.Meta(min_length=1)]


class SchemaFormat(msgspec.Struct, frozen=True, kw_only=True):
    """OpenAI's `json_schema` of a response format."""

    name: str | None = None
    description: str | None = None
    schema: Object | None = None
    strict: bool | None = None


class ResponseFormat(msgspec.Struct, frozen=True, kw_only=True):
    """What the answer has to be. `schema` beside `json_object` and `json_schema` is llama.cpp's way to give one."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: SchemaFormat | None = None
    schema: Object | None = None


class Function(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A function that the model may call; `parameters` is a JSON schema."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    description: str | None = None
    parameters: Object | None = None
    strict: bool | None = None


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool; only functions are known."""

    function: Function
    type: Literal["function"] = "function"


class ChosenFunction(msgspec.Struct, frozen=True, kw_only=True):
    """A function by name."""

    name: str


class ChosenTool(msgspec.Struct, frozen=True, kw_only=True):
    """The function that has to be called."""

    function: ChosenFunction
    type: Literal["function"] = "function"


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """OpenAI's predicted output: a text that much of the answer will repeat, such as the file to be changed."""

    type: Literal["content"]
    content: str | list[Part]


class ExtraFile(msgspec.Struct, frozen=True, kw_only=True):
    """Another file that the model is shown, or may quote."""

    text: str
    filename: str = "tmp"


class ChatRequest(Generation, frozen=True, kw_only=True):
    """POST /v1/chat/completions."""

    messages: Messages
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    n: Choices | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, msgspec.Meta(ge=0, le=20)] | None = None
    response_format: ResponseFormat | None = None
    tools: Annotated[list[Tool], msgspec.Meta(max_length=128)] | None = None
    tool_choice: Literal["none", "auto", "required"] | ChosenTool | None = None
    chat_template_kwargs: Object | None = None
    continue_final_message: bool | None = None  # the last message is the beginning of the answer (vLLM's word for it)
    prediction: Prediction | None = None
    references: list[ExtraFile] | None = None  # texts that the answer may quote; the model is not shown them here
    timings_per_token: bool | None = None  # pieces of a stream say how fast it goes (llama.cpp's word for it)
    stream_options: StreamOptions | None = None


class CompletionRequest(Generation, frozen=True, kw_only=True):
    """POST /v1/completions."""

    prompt: str | list[str | Token | list[Token]]
    suffix: str | None = None
    max_tokens: Natural | None = None
    n: Choices | None = None
    logprobs: Annotated[int, msgspec.Meta(ge=0, le=20)] | None = None
    echo: bool | None = None
    response_format: ResponseFormat | None = None
    stream_options: StreamOptions | None = None


class EmbeddingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """POST /v1/embeddings."""

    input: str | list[str | Token | list[Token]]
    model: str | None = None


class PromptObject(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt as llama.cpp's server takes it beside images; those are refused."""

    prompt_string: str
    multimodal_data: list[str] | None = None


class LlamaGeneration(Generation, frozen=True, kw_only=True):
    """What llama.cpp's /completion and /infill share."""

    n_predict: Whole | None = None  # negative: no limit; 0: only read the prompt
    max_tokens: Whole | None = None  # the same under OpenAI's name
    n_indent: Natural | None = None  # /infill: fewer blanks before a line end the answer; ignored by /completion
    n_probs: Annotated[int, msgspec.Meta(ge=0, le=20)] | None = None
    n_cmpl: Choices | None = None
    post_sampling_probs: bool | None = None
    return_tokens: bool | None = None
    timings_per_token: bool | None = None
    response_fields: list[str] | None = None
    cache_prompt: bool | None = None  # ignored: what is cached is used
    id_slot: Whole | None = None  # ignored: the engine chooses


class LlamaCompletionRequest(LlamaGeneration, frozen=True, kw_only=True):
    """POST /completion."""

    prompt: str | list[str | Token | list[str | Token] | PromptObject] | PromptObject


class InfillRequest(LlamaGeneration, frozen=True, kw_only=True):
    """POST /infill."""

    input_prefix: str
    input_suffix: str
    input_extra: list[ExtraFile] | None = None
    references: list[ExtraFile] | None = None  # texts that the answer may quote; the model is not shown them
    prompt: str | None = None  # what is typed of the line, behind the prefix
    anchor: Natural | None = None  # so many characters before the cursor come last in the prompt; null: its line's
    filename: str | None = None  # the document's, within its repository; shown where other files are
    repository: str | None = None  # its name
    single_line: bool | None = None  # as stop_at "line"
    stop_at: Literal["", "line", "block"] | None = None  # the end of the line, or of the block around the cursor
    max_lines: Count | None = None  # of a block
    partial: bool | None = None  # a stream's events tell as `draft` what comes, before it is trimmed
    prefix_tokens: Count | None = None  # how much the model is shown before the typed line
    suffix_tokens: Natural | None = None  # and behind the cursor


class TokenizeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """POST /tokenize."""

    content: str | list[str | Token]
    add_special: bool | None = None
    parse_special: bool | None = None
    with_pieces: bool | None = None


class DetokenizeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """POST /detokenize."""

    tokens: list[Token]


class TemplateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """POST /apply-template."""

    messages: Messages
    tools: Annotated[list[Tool], msgspec.Meta(max_length=128)] | None = None
    chat_template_kwargs: Object | None = None
