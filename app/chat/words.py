"""Times, sizes and counts as people read them. Pure."""

import time

_STEPS = ((60, "min"), (3600, "h"), (86400, "d"))


def ago(then: float, now: float) -> str:
    """How long since: "now", "5 min", "3 h", "2 d", then the day. Seconds since the epoch, local time."""
    passed = now - then
    if passed < 60:
        return "now"
    if passed < 7 * 86400:
        seconds, unit = next(step for step in reversed(_STEPS) if passed >= step[0])
        return f"{int(passed // seconds)} {unit}"
    return time.strftime("%Y-%m-%d", time.localtime(then))


def size(count: int) -> str:
    """Bytes, in powers of ten, as disks and download pages count: 491 MB, 4.7 GB."""
    if count < 1_000_000:
        return f"{count / 1000:.0f} kB" if count >= 1000 else f"{count} bytes"
    return f"{count / 1e6:.0f} MB" if count < 999_500_000 else f"{count / 1e9:.1f} GB"


def many(count: int, what: str) -> str:
    """A count and its noun: "1 turn", "1,200 turns"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """About how long: "40 s", "3 min", "2 h 5 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
