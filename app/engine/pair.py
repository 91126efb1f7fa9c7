"""A pair: the target, its draft, and whether both mean the same by a token or can speak to each other through text."""

from dataclasses import dataclass

from paceline.engine.vocabulary import Vocabulary

# What a tokenizer must give back byte for byte: cases, digits, indentation, ends of lines, scripts, accents that stand
# apart, characters of one to four bytes, spaces of several kinds and the texts of control tokens.
SAMPLE = (
    "def f(x_1, Y):\n\n    return  [x_1 + 1024, 'it''s']\t# TODO\r\n\tif  a:  b\n        pass  \n",
    " leading, trailing ",
    "Grüße, naïve café, cafe\u0301, ½ €5, Ⅷ ﬁ",
    "漢字とかな、한국어, русский, العربية, हिन्दी",
    "👩‍💻 🚀\u00a0\u2003\ufeff<|im_end|></s>[MASK]",
)


@dataclass(frozen=True)
class Mismatch:
    """Why ids cannot be exchanged between a target and a draft."""

    reason: str


@dataclass(frozen=True)
class Fit:
    """How a draft can serve a target.

    `difference`: why ids cannot be exchanged, so that drafts go through text; "": they can. `fault`: why it cannot
    serve at all, or "".
    """

    difference: str = ""
    fault: str = ""

    @property
    def universal(self) -> bool:
        """Whether drafts go through text."""
        return bool(self.difference) and not self.fault


def fit(target: Vocabulary, draft: Vocabulary) -> Fit:
    """How this draft can serve this target."""
    found = compare(target, draft)
    if found is None:
        return Fit()
    why_not = universal_fault(target, draft)
    return Fit(found.reason, f"{found.reason}, and drafts cannot go through text: {why_not}" if why_not else "")


def compare(target: Vocabulary, draft: Vocabulary) -> Mismatch | None:
    """None when every token that both have stands for the same text, so that ids may be exchanged.

    Sizes may differ by padding: entries behind the shorter vocabulary must be unused. Models round the size up for the
    hardware, so the 0.5B and the 7B of one family often differ in it.
    """
    shared = min(target.n_tokens, draft.n_tokens)
    for token in range(shared):
        ours, theirs = target.read_text(token), draft.read_text(token)
        if ours != theirs:
            return Mismatch(f"token {token} is {ours!r} in the target and {theirs!r} in the draft")
    longer, name = (target, "target") if target.n_tokens > shared else (draft, "draft")
    for token in range(shared, longer.n_tokens):
        if not _is_padding(longer, token):
            return Mismatch(f"only the {name} has token {token}, {longer.read_text(token)!r}")
    ends_differ = target.end_of_generation ^ draft.end_of_generation
    if target.bos != draft.bos or target.eos != draft.eos:
        ours, theirs = f"{target.bos}/{target.eos}", f"{draft.bos}/{draft.eos}"
        return Mismatch(f"begin and end of text differ: {ours} in the target, {theirs} in the draft")
    if any(token < shared for token in ends_differ):
        token = min(ends_differ)
        return Mismatch(f"token {token}, {target.read_text(token)!r}, ends an answer in only one of them")
    return None


def universal_fault(target: Vocabulary, draft: Vocabulary) -> str:
    """Why drafts cannot go through text; "" when they can.

    Both must write any text and give it back: some tokenizers fold cases, accents or spaces, or have no tokens for
    what they do not know.
    """
    for vocabulary, name in ((target, "target"), (draft, "draft")):
        for text in SAMPLE:
            given = b"".join(map(vocabulary.piece, vocabulary.encode(text))).decode(errors="replace")
            if given not in (text, " " + text):
                at = next((i for i, (a, b) in enumerate(zip(text, given, strict=False)) if a != b), len(given))
                before, after = text[max(0, at - 3) : at + 5], given[max(0, at - 3) : at + 5]
                return f"the {name} reads {before!r} as {after!r}"
    return "" if draft.end_of_generation else "the draft has no token that ends an answer"


def _is_padding(vocabulary: Vocabulary, token: int) -> bool:
    """An entry that rounds the size up: nothing in it, or a name that says so."""
    text = vocabulary.read_text(token).strip("[]<>|").lower()
    return not text or text.startswith(("pad", "unused", "extra", "dummy", "reserved"))
