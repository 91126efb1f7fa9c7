"""What stands within a paragraph: emphasis, code, links. Nothing here draws."""

from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from paceline.text import strip_controls
from paceline.tui.widgets.rows import Names, Span

_OPENING = {"strong_open": "strong", "em_open": "emphasis", "s_open": "struck"}
_CLOSING = {"strong_close", "em_close", "s_close", "link_close"}


def inline(text: str, names: Names = ()) -> list[Span]:
    """The text with its marks taken away and their styles added to `names`. A line break stays one.

    A link shows its address after its text, since nothing follows it. HTML is text. What characters stand for that
    are written by number (`&#27;`) is stripped of controls, too.

    What is no style says how the text is written: "literal" without marks, "inserted" not at all, and an empty
    "address" is one that is not shown after its link.
    """
    if not any(mark in text for mark in "*_`[<~&\\!"):
        return [(text, names)]
    spans: list[Span] = []
    open_: list[str] = []
    links: list[Token] = []  # an address that is written as text may stand within another link
    for token in _parser().parseInline(text)[0].children or ():
        style = (*names, *open_)
        if token.markup == "__":  # a name such as __init__ is likelier than somebody's strong text
            spans.append(("__", style))
        elif token.type in _OPENING:
            open_.append(_OPENING[token.type])
        elif token.type == "link_open":
            open_.append("link")
            links.append(token)
        elif token.type in _CLOSING:
            if token.type == "link_close" and (link := links.pop()).markup != "autolink":
                address = str(link.attrGet("href") or "")
                told = not address or address == _told(spans, address)
                spans.append(("" if told else f" ({strip_controls(address)})", (*names, "address")))
            open_.pop()
        else:
            spans += _leaf(token, (*style, "literal") if links and links[-1].markup == "autolink" else style)
    return [span for span in spans if span[0] or "address" in span[1]]


def _leaf(token: Token, style: Names) -> list[Span]:
    if token.type in ("softbreak", "hardbreak"):
        return [("\n", ())]
    if token.type == "code_inline":
        return [(strip_controls(token.content), (*style, "code"))]
    if token.type == "image":
        shown, how = (token.content, "literal") if token.content else ("image", "inserted")
        return [
            (strip_controls(shown), (*style, "link", how)),
            (f" ({strip_controls(str(token.attrGet('src') or ''))})", (*style, "address")),
        ]
    return [(strip_controls(token.content), style)]


def _told(spans: list[Span], address: str) -> str:
    """The address, where the text of the link is just that."""
    shown = next((text for text, _ in reversed(spans) if text), "")
    return address if shown and address in (shown, f"mailto:{shown}", f"http://{shown}") else ""


class _Parser(MarkdownIt):
    """Shows an address as it was written."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802 - markdown-it's name
        return url

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802 - markdown-it's name
        return link


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    rules = ["newline", "escape", "backticks", "strikethrough", "emphasis", "link", "image", "autolink", "entity"]
    parser = _Parser("zero", {"html": False, "maxNesting": 20})
    parser.enable([*rules, "balance_pairs", "fragments_join"], ignoreInvalid=True)
    return parser
