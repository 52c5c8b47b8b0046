"""Small pieces of English that several messages share."""

from __future__ import annotations

# Characters of a value that a message repeats: the longest position is shorter.
MOST_QUOTED = 80


def quoted(text: object) -> str:
    """A value that was typed, as a message repeats it: in quotes, its middle left out if long."""
    words = repr(text)
    return words if len(words) <= MOST_QUOTED else f"{words[:40]}...{words[-20:]}"


def counted(number: int, noun: str, plural: str | None = None, width: int = 0) -> str:
    """``1 piece``, ``2,000 pieces``; an irregular plural is given, and the width of the number."""
    return f"{number:{width},} {noun if number == 1 else plural or noun + 's'}"


def counted_plies(number: int) -> str:
    return counted(number, "ply", "plies")


def duration(seconds: float) -> str:
    """``9.8 s``, ``45 s``, ``3 min 20 s``, ``2 h 5 min``: two figures are enough."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def size(count: int) -> str:
    """``512 B``, ``1.5 MB``: bytes in powers of a thousand."""
    number = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            break
        number /= 1000
    return f"{count} B" if unit == "B" else f"{number:.1f} {unit}"
