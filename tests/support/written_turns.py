"""Made-up turns and texts, for property tests of what keeps them."""

from hypothesis import strategies as st

from paceline.chat.turns import Attached, Run, Turn

# whatever Python can hold: lone surrogates, NUL, emoji with joiners, escapes, texts of other scripts
TEXTS = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=()), max_size=40),
    st.sampled_from(
        [
            "",
            "\0",
            "a\0b",
            "\ud800",
            "\udc00\ud800",
            "\ud83d\ude00",
            "👩‍👩‍👧‍👦 family",
            "日本語のテキスト",
            "\x1b[2J",
            "İstanbul ΟΔΟΣ ß",
        ]
    ),
)
RUNS = st.lists(st.builds(Run, st.sampled_from(["", "ngram", "draft", "\ud800"]), st.integers(1, 50)), max_size=6)
ATTACHED = st.lists(
    st.builds(
        Attached, st.sampled_from(["file", "folder", "symbol", "diff", "output", "paste"]), TEXTS, TEXTS, TEXTS, TEXTS
    ),
    max_size=2,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**50), 2**50) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
TURNS = st.builds(
    Turn,
    id=st.just(0),
    parent=st.none(),
    role=st.sampled_from(["user", "assistant"]),
    text=TEXTS,
    attached=ATTACHED.map(tuple),
    state=st.sampled_from(["done", "stopped", "length", "failed"]),
    created=st.floats(1, 4e9),
    model=TEXTS,
    timings=st.dictionaries(TEXTS, JSON, max_size=3),
    runs=RUNS.map(tuple),
    error=TEXTS,
    skipped=st.integers(0, 3),
    summary=TEXTS,
)


def user(text: str, parent: int | None = None) -> Turn:
    """What a person wrote."""
    return Turn(0, parent, "user", text)


def answer(text: str, parent: int | None, state: str = "done") -> Turn:
    """What a model wrote."""
    return Turn(0, parent, "assistant", text, state=state)
