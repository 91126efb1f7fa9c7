"""What the API takes, at most."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds on one request and its reader. Sizes in bytes, times in seconds."""

    body: int = 8 * 2**20  # larger bodies are refused: 413
    body_seconds: float = 60.0  # a body has to arrive within: 408
    target: int = 8 * 2**10  # path and query: 414
    headers: int = 32 * 2**10  # all names and values together: 431
    header_count: int = 128
    json_depth: int = 64  # objects and arrays inside each other: 400
    pace: float = 0.1  # in which pieces of an answer are gathered into one message, after the first
    pending_events: int = 8192  # of the engine that wait for a reader; then it is cut off
    stall_seconds: float = 30.0  # a reader that takes nothing for so long is cut off too
    jobs: int = 128  # prompts times choices in one request: 400
    comment_seconds: float = 10.0  # in which a stream had nothing to say; then it gives a sign of life
