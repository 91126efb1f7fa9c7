"""A conversation as one page of HTML: no script, nothing fetched, readable on light and on dark grounds. Pure."""

from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any

from paceline.chat import labels
from paceline.chat.titles import one_line
from paceline.chat.turns import Attached, Session, Turn
from paceline.prompts.context import language

COLOURED = 100_000  # characters of code, above which it is not coloured
FORMATTED = 200_000  # characters of a message, above which its Markdown is shown as it is
LIGHT, DARK = "default", "github-dark"  # styles of Pygments
# what a character reference such as &#x202e; may have brought back
_CONTROLS = dict.fromkeys(
    [
        *range(9), *range(11, 32), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F,
        *range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xE0000, 0xE0080),
    ]
)  # fmt: skip
_STYLE = """
:root { color-scheme: light dark; --ground: #fff; --text: #1c1c1c; --soft: #f3f3f3; --line: #d0d0d0; --dim: #666; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #16181d; --text: #e4e4e4; --soft: #20242b; --line: #3a3f48; --dim: #a0a0a0; }
}
body { background: var(--ground); color: var(--text); font: 16px/1.5 system-ui, sans-serif;
  max-width: 52rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } header p, .ending { color: var(--dim); }
section { border-top: 1px solid var(--line); margin-top: 1.5rem; } section > h2 { font-size: 1rem; }
section.user { border-left: 4px solid var(--line); padding-left: 1rem; }
pre { background: var(--soft); padding: .75rem; overflow-x: auto; font: 14px/1.45 ui-monospace, monospace; }
code { font-family: ui-monospace, monospace; } .plain { white-space: pre-wrap; }
details { border: 1px solid var(--line); padding: .25rem .75rem; margin: .5rem 0; } summary { cursor: pointer; }
table { border-collapse: collapse; } td, th { border: 1px solid var(--line); padding: .2rem .5rem; }
blockquote { border-left: 3px solid var(--line); margin-left: 0; padding-left: 1rem; color: var(--dim); }
"""


def html(session: Session, path: Sequence[Turn]) -> str:
    """The branch as a page. Whatever the texts hold is shown as text; control characters are taken out."""
    title, facts = escape(labels.title(session)), escape(" · ".join(labels.facts(session)))
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{title}</title><style>{_STYLE}{_code_styles()}</style></head><body>",
        f"<header><h1>{title}</h1><p>{facts}</p></header>",
    ]
    if session.system:
        parts.append(_folded(Attached("file", "System prompt", session.system)))
    for turn in path:
        parts.append(f'<section class="{turn.role}"><h2>{escape(labels.who(turn))}</h2>')
        if left_out := labels.left_out(turn):
            parts.append(_folded(Attached("paste", left_out, turn.summary)))
        parts += map(_folded, turn.attached)
        parts.append(_message(labels.body(turn.text)))
        if ending := labels.ending(turn):
            parts.append(f'<p class="ending">{escape(ending)}</p>')
        parts.append("</section>")
    parts.append("</body></html>")
    return "\n".join(parts).translate(_CONTROLS) + "\n"


def _folded(attached: Attached) -> str:
    name = one_line(f"{attached.name} ({attached.cut})" if attached.cut else attached.name)
    code = _code(labels.body(attached.text), language(attached.path or attached.name))
    return f"<details><summary>{escape(name)}</summary>{code}</details>"


def _message(text: str) -> str:
    """Markdown as HTML; HTML within it is shown as text, and a picture as a link to it."""
    if len(text) > FORMATTED:
        return f'<div class="plain">{escape(text)}</div>'
    return str(_markdown().render(text))


@cache
def _markdown() -> Any:  # noqa: ANN401 - a parser; imported when the first page is made
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    parser.disable("image")
    parser.add_render_rule("fence", lambda _, tokens, at, *__: _code(tokens[at].content, tokens[at].info))
    parser.add_render_rule("code_block", lambda _, tokens, at, *__: _code(tokens[at].content, ""))
    parser.add_render_rule("link_open", _link)
    return parser


def _link(renderer: Any, tokens: Any, at: int, options: Any, env: Any) -> str:  # noqa: ANN401 - of markdown-it
    """The start of a link that gives away nothing about where it is followed from."""
    target = escape(str(tokens[at].attrs.get("href", "")))
    return f'<a href="{target}" title="{target}" rel="noopener noreferrer">'


def _code(text: str, info: str) -> str:
    """A block of code, coloured where its language is known."""
    words = info.split()
    shown = _coloured(text, words[0]) if words and len(text) <= COLOURED else escape(text)
    return f'<pre><code class="code">{shown}</code></pre>'


def _coloured(text: str, language: str) -> str:
    try:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import get_lexer_by_name
        from pygments.util import ClassNotFound
    except ImportError:
        return escape(text)
    try:
        lexer = get_lexer_by_name(language.lower(), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape(text)
    return str(highlight(text, lexer, HtmlFormatter(nowrap=True)))


@cache
def _code_styles() -> str:
    """Rules for coloured code, for both grounds."""
    try:
        from pygments.formatters import HtmlFormatter
    except ImportError:
        return ""

    def rules(style: str) -> str:
        formatter: Any = HtmlFormatter(style=style)
        return "\n".join(line for line in formatter.get_style_defs(".code").splitlines() if line.startswith(".code ."))

    return f"{rules(LIGHT)}\n@media (prefers-color-scheme: dark) {{\n{rules(DARK)}\n}}\n"
