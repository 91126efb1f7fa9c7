"""A vocabulary for grammars: every byte, pieces across the borders of a grammar's parts, tokens without text."""

from paceline.engine.vocabulary import Vocabulary

PIECES = (
    *(b'{"', b'":', b'": ', b'",', b'", "', b'"}', b"}\n", b"{\n ", b"[]", b"],", b"}}", b'\\"', b"\\u00", b'\\u00e9"'),
    *(b"true", b"tru", b"null", b"false,", b"-1", b"12", b"1.", b"0.5", b"e+", b"00", b"ab", b"aab", b"ba", b"end"),
    *("é".encode(), "世".encode(), "世".encode()[:2], "界".encode()[1:] + b'"', b"  ", b"\n  ", b"\xff", b"\xc3\x28"),
    *(b"<|end|>", b"a", b"", b"name", b"age"),
)
CONTROL = ("<|start|>", "<|end|>", "<|pad|>", "name")  # the last one's entry reads as ordinary text does
START = 256 + len(PIECES)
END, PAD = START + 1, START + 2
OTHER_END = 256 + PIECES.index(b"end")  # an ordinary token that ends answers, as some vocabularies have


def small_vocabulary() -> Vocabulary:
    """About 300 tokens; some pieces are there twice, one is empty."""
    texts = [*(bytes([i]) for i in range(256)), *PIECES]
    control = frozenset(range(START, START + len(CONTROL)))
    return Vocabulary(
        n_tokens=START + len(CONTROL),
        encoder=lambda text, special, bos: list(text.encode()),
        read_piece=lambda token: b"" if token in control else texts[token],
        read_text=lambda token: CONTROL[token - START] if token in control else texts[token].decode("latin-1"),
        end_of_generation=frozenset({END, OTHER_END}),
        control=control,
    )
