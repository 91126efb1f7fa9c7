"""What a request asks for, in the service's words: settings, grammar, prompts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from paceline.daemon.http.choice import token_text
from paceline.daemon.http.errors import RequestError
from paceline.daemon.http.schemas import DraftWish, Generation, PromptObject, ResponseFormat
from paceline.engine.vocabulary import Vocabulary
from paceline.errors import SHORTEN, ContextOverflowError

if TYPE_CHECKING:
    from paceline.daemon.service import Overrides, Service
    from paceline.engine.grammar import Grammar

BAN = float("-inf")
STRONGEST = 1000.0  # of a bias; OpenAI has 100
LONGEST_KEY = 256  # characters of a text that is biased
Segments = list[str | int]  # text and tokens of one prompt


def overrides(body: Generation, service: "Service", **more: Any) -> "Overrides":  # noqa: ANN401
    """The service's overrides for a request's first choice. `more`: what the route knows; None says nothing."""
    from paceline.daemon.service import Overrides

    wish = body.speculation
    drafter, length = (wish.drafter, wish.length) if isinstance(wish, DraftWish) else (wish, None)
    window = body.repeat_last_n
    fields: dict[str, Any] = {
        "temperature": body.temperature,
        "top_k": None if body.top_k is None else max(0, body.top_k),
        "top_p": body.top_p,
        "min_p": body.min_p,
        "repetition_penalty": body.repeat_penalty,
        "repetition_window": service.n_ctx if window == -1 else window,
        "presence_penalty": body.presence_penalty,
        "frequency_penalty": body.frequency_penalty,
        "logit_bias": biases(body, service.vocabulary) or None,
        "seed": None if body.seed is None or body.seed < 0 else body.seed,
        "speculation": drafter,
        "draft_length": length,
        "stop": tuple(stops(body)) or None,
        "priority": body.priority,
        "supersedes": body.supersedes or None,
        "prompt_seconds": _seconds(body.t_max_prompt_ms),
        "predict_seconds": _seconds(body.t_max_predict_ms),
        "strict": body.strict,
        "tell_drafts": body.tell_drafts or None,
    }
    fields |= {name: value for name, value in more.items() if value is not None and fields.get(name) is None}
    return Overrides(**{name: value for name, value in fields.items() if value is not None})


def for_choice(asked: "Overrides", choice: int, **more: Any) -> "Overrides":  # noqa: ANN401
    """The first choice's overrides for another one: with a seed of its own, and `more` instead of what is there."""
    seed = None if asked.seed is None else (asked.seed + choice) % 2**63
    return replace(asked, seed=seed, **more)


def stops(body: Generation) -> list[str]:
    """The stop strings."""
    given = body.stop
    return [given] if isinstance(given, str) else list(given or ())


def biases(body: Generation, vocabulary: Vocabulary) -> tuple[tuple[int, float], ...]:
    """What is added to logits: OpenAI's object by token id, llama.cpp's pairs of a token id or text, `ignore_eos`."""
    found: dict[int, float] = {}
    given = body.logit_bias or ()
    for key, value in given.items() if isinstance(given, dict) else given:
        if value is True:
            raise RequestError(400, "logit_bias: a bias is a number, or false", param="logit_bias")
        if value is not False and not abs(value) <= STRONGEST:
            far = f"logit_bias: {value} is not within {STRONGEST:.0f}"
            raise RequestError(400, far, "false bans a token", param="logit_bias")
        if isinstance(key, str) and len(key) > LONGEST_KEY:
            raise RequestError(400, f"logit_bias: a text has more than {LONGEST_KEY} characters", param="logit_bias")
        for token in [key] if isinstance(key, int) else _tokens_of(key, vocabulary):
            if token < vocabulary.n_tokens:  # others are ignored, as llama.cpp does
                found[token] = found.get(token, 0.0) + (BAN if value is False else float(value))
    if body.ignore_eos:
        found |= dict.fromkeys(vocabulary.end_of_generation, BAN)
    return tuple(sorted(found.items()))


def _tokens_of(key: str, vocabulary: Vocabulary) -> list[int]:
    if key.isascii() and key.isdigit() and len(key) < 10:
        return [int(key)]
    return vocabulary.encode(key)


def _seconds(milliseconds: float | None) -> float | None:
    return milliseconds / 1000 if milliseconds is not None and milliseconds > 0 else None


def grammar(body: Generation, wanted: ResponseFormat | None = None) -> "Grammar | None":
    """What the answer has to look like, or None: anything. Raises RequestError, InputError."""
    schema, free = body.json_schema, None
    if wanted is not None and wanted.type != "text":
        given = wanted.json_schema.schema if wanted.json_schema is not None else wanted.schema
        if given is None and wanted.type == "json_schema":
            raise RequestError(400, "response_format has no schema", param="response_format.json_schema.schema")
        if schema is not None:
            raise RequestError(400, "json_schema and response_format say different things", param="json_schema")
        schema, free = given, given is None
    if body.grammar and (schema is not None or free):
        raise RequestError(400, "an answer follows a grammar or a JSON schema, not both", param="grammar")
    if not (body.grammar or free or schema is not None):
        return None
    from paceline.engine.grammar import Grammar

    if body.grammar:
        return Grammar.gbnf(body.grammar)
    return Grammar.json_object() if schema is None else Grammar.json_schema(schema)


def prompts(given: object) -> list[Segments]:
    """The prompts in a field that may hold one or several, as text, tokens, or both mixed. Raises RequestError.

    As llama.cpp's server reads it: a list with a number in it is one prompt, any other list is one for each item.
    """
    if isinstance(given, list):
        if any(isinstance(each, int) for each in given):
            return [_segments(given)]
        found = [_segments(each) for each in given]
    else:
        found = [_segments(given)]
    if not found:
        raise RequestError(400, "there is no prompt", param="prompt")
    return found


def _segments(given: object) -> Segments:
    if isinstance(given, str):
        return [given]
    if isinstance(given, PromptObject):
        if given.multimodal_data:
            raise RequestError(400, "this model reads text only", "leave multimodal_data out", param="prompt")
        return [given.prompt_string]
    found: Segments = []
    for each in given if isinstance(given, list) else ():
        if not isinstance(each, (str, int)):
            raise RequestError(400, "prompt: numbers and lists are mixed", "put every prompt in a list", param="prompt")
        found.append(each)
    return found


def tokens(segments: Segments, vocabulary: Vocabulary, room: int) -> list[int]:
    """A prompt's tokens. Texts of control tokens are those tokens. `room`: the context's tokens.

    Raises RequestError when there are none, or one that the model does not have; ContextOverflowError.
    """
    found: list[int] = []
    texts = [each for each in segments if isinstance(each, str)]
    if sum(map(len, texts)) > room and vocabulary.least_tokens(texts) >= room:
        raise ContextOverflowError(vocabulary.least_tokens(texts), room - 1, SHORTEN, at_least=True)
    for at, each in enumerate(segments):
        if isinstance(each, int):
            found.append(known(each, vocabulary, "prompt"))
        else:
            found += vocabulary.encode(each, special=True, bos=at == 0)
    if not found:
        raise RequestError(400, "the prompt is empty", param="prompt")
    if len(found) >= room:
        raise ContextOverflowError(len(found), room - 1, SHORTEN)
    return found


def known(token: int, vocabulary: Vocabulary, param: str) -> int:
    """The token, if the model has it. Raises RequestError."""
    if token >= vocabulary.n_tokens:
        raise RequestError(400, f"{token} is no token: there are {vocabulary.n_tokens}", param=param)
    return token


def as_text(segments: Segments, vocabulary: Vocabulary) -> str:
    """A prompt as its sender sees it."""
    return "".join(each if isinstance(each, str) else text_of([each], vocabulary) for each in segments)


def text_of(found: Sequence[int], vocabulary: Vocabulary) -> str:
    """The tokens as text, control tokens by name."""
    return b"".join(token_text(vocabulary, token) for token in found).decode("utf-8", "replace")


def check_jobs(count: int, most: int) -> None:
    """Raises RequestError when a request asks for too many answers at once."""
    if count > most:
        raise RequestError(400, f"{count} answers were asked for at once; {most} are allowed", param="n")
