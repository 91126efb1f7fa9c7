"""A pair: the target, its draft, and the proof that both mean the same by a token."""

from dataclasses import dataclass

from paceline.engine.vocabulary import Vocabulary


@dataclass(frozen=True)
class Mismatch:
    """Why a draft cannot serve a target."""

    reason: str


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


def _is_padding(vocabulary: Vocabulary, token: int) -> bool:
    """An entry that rounds the size up: nothing in it, or a name that says so."""
    text = vocabulary.read_text(token).strip("[]<>|").lower()
    return not text or text.startswith(("pad", "unused", "extra", "dummy", "reserved"))
