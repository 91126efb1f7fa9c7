"""POST /tokenize, /detokenize and /apply-template, as llama.cpp's server has them."""

from typing import TYPE_CHECKING

from paceline.daemon.http import tools, wishes
from paceline.daemon.http.answers import Content, Piece, Prompt, Tokens
from paceline.daemon.http.chat import messages
from paceline.daemon.http.choice import token_text
from paceline.daemon.http.errors import refused
from paceline.daemon.http.schemas import DetokenizeRequest, TemplateRequest, TokenizeRequest
from paceline.engine.vocabulary import Vocabulary
from paceline.errors import ModelError
from paceline.prompts.chat import fallback_template, render_chat

if TYPE_CHECKING:
    from paceline.daemon.service import Service


def tokenize(body: TokenizeRequest, service: "Service") -> Tokens:
    """Token ids, or ids with their texts. Raises RequestError for a token the model does not have."""
    vocabulary = service.vocabulary
    parts = [body.content] if isinstance(body.content, str) else body.content
    special = body.parse_special is not False
    found: list[int] = []
    for at, part in enumerate(parts):
        if isinstance(part, int):
            found.append(wishes.known(part, vocabulary, "content"))
        else:
            found += vocabulary.encode(part, special=special, bos=bool(body.add_special) and at == 0)
    return Tokens(tokens=[_piece(token, vocabulary) if body.with_pieces else token for token in found])


def detokenize(body: DetokenizeRequest, service: "Service") -> Content:
    """The text, control tokens by name. Raises RequestError for a token the model does not have."""
    vocabulary = service.vocabulary
    for token in body.tokens:
        wishes.known(token, vocabulary, "tokens")
    return Content(content=wishes.text_of(body.tokens, vocabulary))


def apply_template(body: TemplateRequest, service: "Service") -> Prompt:
    """The prompt's text. Raises RequestError where the model's template refuses the conversation."""
    vocabulary = service.vocabulary
    try:
        template = vocabulary.chat_template or fallback_template(vocabulary)
        extra = dict(body.chat_template_kwargs or {})
        if body.tools:
            extra["tools"] = tools.for_template(tools.offered(body.tools, None, template))
        segments = render_chat(
            template,
            messages(body.messages),
            bos=vocabulary.text_of(vocabulary.bos),
            eos=vocabulary.text_of(vocabulary.eos),
            extra=extra or None,
        )
    except ModelError as error:
        raise refused(error, 400) from error
    return Prompt(prompt="".join(segment.text for segment in segments))


def _piece(token: int, vocabulary: Vocabulary) -> Piece:
    """Its text; its bytes where they are none."""
    data = token_text(vocabulary, token)
    try:
        return Piece(id=token, piece=data.decode("utf-8"))
    except UnicodeDecodeError:
        return Piece(id=token, piece=list(data))
