"""Secrets in a text that a model is to rewrite: names stand for them on the way, and they come back in its answer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

STEM = "REDACTED"  # what the names begin with


@dataclass(frozen=True)
class Mask:
    """Each secret's name. A name is the beginning of no other one, and stands nowhere in the text."""

    names: Mapping[str, str]  # by secret

    def hide(self, text: str) -> str:
        """The text with names for the secrets."""
        return _exchanged(text, self.names)

    def lacks(self, shown: str, answer: str) -> bool:
        """Whether a name that the model was shown is missing in its answer."""
        return any(name in shown and name not in answer for name in self.names.values())

    def restore(self, text: str) -> str:
        """The text with the secrets for their names."""
        return _exchanged(text, {name: secret for secret, name in self.names.items()})


def mask(text: str, redacted: str) -> Mask:
    """For a text and the same text redacted: as long, and another character for each one of a secret."""
    stem = STEM
    while stem in text:
        stem += "X"
    secrets, at = dict[str, None](), 0
    while at < len(text):
        end = at
        while end < len(text) and text[end] != redacted[end]:
            end += 1
        if end > at:
            secrets[text[at:end]] = None
        at = max(end, at + 1)
    return Mask({secret: f"{stem}{number}_" for number, secret in enumerate(secrets, 1)})


def _exchanged(text: str, by: Mapping[str, str]) -> str:
    """All of one in the place of the other; the longest where several stand at one place."""
    if not by:
        return text
    pattern = "|".join(map(re.escape, sorted(by, key=len, reverse=True)))
    return re.sub(pattern, lambda found: by[found[0]], text)
