"""Tags of HTML and its relatives: which of them a text closes that it should not."""

import re
from dataclasses import dataclass

MARKUP = frozenset(
    {"html", "xhtml", "xml", "jsx", "tsx", "javascriptreact", "typescriptreact", "vue", "svelte", "astro", "erb", "php"}
    | {"handlebars", "django-html", "jinja-html", "twig", "blade", "htmldjango", "heex", "razor"}
)
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
)
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<close>/?)(?:(?P<name>[A-Za-z][\w.:-]*)"
    r"""(?:=>|[^<>"'{}]|"[^"]*"|'[^']*'|\{(?:[^{}]|\{[^{}]*\})*\})*?(?P<empty>/?))?>""",
    re.DOTALL,
)


@dataclass(frozen=True)
class Tag:
    """One of them. Names of fragments are empty."""

    name: str
    closes: bool
    at: int  # where it begins


def without_stray_tags(before: str, after: str, text: str, *, whole: bool) -> str:
    """The text up to the first closing tag that closes nothing of its own, and nothing that is left open around it;
    nothing of what is a tag's mark alone.

    whole: nothing is missing in front of `before`. Without it, tags may close what cannot be seen.
    """
    if before.rfind("<!--") > before.rfind("-->"):  # within a comment
        return text
    if text.strip() in ("<", "</") or (text.strip() == "/>" and _ends_in_a_tag(before)):
        return ""
    open_tags = [tag.name for tag in _left_open(_tags(before))]
    least = 0  # how many of them are closed after the cursor, the outermost ones
    for needed in reversed(_unopened(_tags(after))):
        if needed.name in open_tags[least:]:
            least = open_tags.index(needed.name, least) + 1
    for tag in _tags(text):
        if not tag.closes:
            open_tags.append(tag.name)
            continue
        found = len(open_tags) - open_tags[::-1].index(tag.name) - 1 if tag.name in open_tags else -1
        if found < least and (found >= 0 or whole):
            return text[: tag.at]
        del open_tags[max(found, 0) :]
    return text


def _ends_in_a_tag(before: str) -> bool:
    """Whether the last thing is a whole tag, blanks aside."""
    return before.rstrip().endswith(">") and not before.rstrip().endswith("=>")


def _tags(text: str) -> list[Tag]:
    return [
        Tag(found["name"] or "", bool(found["close"]), found.start())
        for found in _TAG.finditer(text)
        if not found[0].startswith("<!--") and not found["empty"] and (found["name"] or "").lower() not in _VOID
    ]


def _left_open(tags: list[Tag]) -> list[Tag]:
    """Those that are not closed; one that is closed closes those inside of it, as in lists without `</li>`."""
    stack = list[Tag]()
    for tag in tags:
        if not tag.closes:
            stack.append(tag)
        elif any(each.name == tag.name for each in stack):
            while stack.pop().name != tag.name:
                pass
    return stack


def _unopened(tags: list[Tag]) -> list[Tag]:
    """Those that close something opened earlier."""
    found, stack = list[Tag](), list[str]()
    for tag in tags:
        if not tag.closes:
            stack.append(tag.name)
        elif tag.name in stack:
            while stack.pop() != tag.name:
                pass
        else:
            found.append(tag)
    return found
