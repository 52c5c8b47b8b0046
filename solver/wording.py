"""Small pieces of English that several messages share."""

from __future__ import annotations

# Characters of a value that a message repeats: the longest position is shorter.
MOST_QUOTED = 80


def quoted(text: object, most: int = MOST_QUOTED) -> str:
    """A value that was typed or read, as a message repeats it: in quotes, its middle left out if
    that is longer than ``most``."""
    words = repr(text)
    return words if len(words) <= most else f"{words[: most // 2]}...{words[-(most // 4) :]}"


def printable(text: str) -> str:
    """What cannot be printed, as the characters that move a terminal's cursor, is escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def one_line(text: object, most: int = 200) -> str:
    """Words from elsewhere, such as another library's error, as a message repeats them: on one
    line, what cannot be printed escaped, the end left out if that is longer than ``most``."""
    words = " ".join(str(text).split())
    shown = printable(words)
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


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
