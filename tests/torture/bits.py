"""One flipped bit in every 64 KiB of every kind of file, and many bits of what is small.

A damaged file is given to the commands that read it: the command refuses it, in one line that names
it, or does what it does with the whole file. A file of many blocks is shared out among its readers.
Where a file is read in microseconds, every bit of a few pieces of it is flipped in turn, and the
file given to the function behind those commands.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from damaged_files import each_flip

from solver.errors import FadefourError
from torture.campaign import Setting, Trial, Verdict
from torture.functions import READS, Read
from torture.inputs import Inputs
from torture.kinds import KINDS
from torture.readers import TEXT, Kind, Reader, judged, replace_file

BLOCK = 1 << 16
FEWEST = 4  # flips in a file; a slow reader is given no more than these
BYTES_AT_A_TIME = 256
PIECES = 4  # of so many bytes, in which every bit is flipped: the first of a file and others


def trials(setting: Setting, inputs: Inputs) -> Iterator[Trial]:
    for kind in setting.share_of(KINDS, "kinds", times=10):
        for number in range(len(kind.readers)):
            yield from _flips(setting, inputs, kind, number)
    reads = [read for read in READS if not read.is_large]
    for read in setting.share_of(reads, "reads", times=10):
        yield from _every_bit(setting, inputs, read)


# ---- commands -----------------------------------------------------------------------------------


def places(size: int, setting: Setting, name: str) -> list[tuple[int, int]]:
    """Bytes and bits to flip: one in every block, and more in a file of few blocks."""
    draw = setting.random("places", name)
    blocks = [(first, min(first + BLOCK, size)) for first in range(0, size, BLOCK)]
    chosen = [draw.randrange(*block) for block in blocks]
    chosen += [draw.randrange(size) for _ in range(FEWEST - len(chosen))]
    return [(place, draw.randrange(8)) for place in chosen]


def _flips(setting: Setting, inputs: Inputs, kind: Kind, number: int) -> Iterator[Trial]:
    """Those for one of the readers: its share of them, and at least the fewest."""
    size, reader = inputs.file(kind.file).stat().st_size, kind.readers[number]
    flips = places(size, setting, kind.name)
    if len(flips) > FEWEST:
        fast = [other for other in kind.readers if not other.is_slow]
        shared = [] if reader.is_slow else flips[fast.index(reader) :: len(fast)]
        more = setting.random("more", kind.name, reader.name).sample(flips, FEWEST)
        flips = shared + more[: max(0, FEWEST - len(shared))]
    inputs.expect(reader)
    for place, bit in setting.share_of(flips, kind.name, reader.name):
        yield Trial(
            f"flipped bit, {kind.group}",
            f"bit {bit} of byte {place} of {kind.file}: {reader.name}",
            lambda here, at=(place, bit): _flipped(inputs, kind, reader, at, here),
        )


def _flipped(
    inputs: Inputs, kind: Kind, reader: Reader, place: tuple[int, int], here: Path
) -> Verdict:
    inputs.copy([*reader.command, kind.file], here)
    data = bytearray((here / kind.file).read_bytes())
    data[place[0]] ^= 1 << place[1]
    return judged(kind, reader, here, bytes(data), inputs.expected[reader])


# ---- functions ----------------------------------------------------------------------------------


def _every_bit(setting: Setting, inputs: Inputs, read: Read) -> Iterator[Trial]:
    good = inputs.file(read.file).read_bytes()
    size = 8 + int.from_bytes(good[:8], "little") if read.header_only else len(good)
    first, *others = range(0, size, BYTES_AT_A_TIME)
    draw = setting.random("pieces", read.name)
    pieces = [first, *sorted(draw.sample(others, min(len(others), PIECES - 1)))]
    for first in setting.share_of(pieces, "every bit", read.name):
        end = min(first + BYTES_AT_A_TIME, size)
        yield Trial(
            f"every bit of some pieces, {read.promise}",
            f"bytes {first} to {end - 1} of {read.file}",
            lambda here, span=range(first, end): _each_flipped(inputs, read, span, here),
            8 * (end - first),
        )


def _each_flipped(inputs: Inputs, read: Read, span: range, here: Path) -> Verdict:
    inputs.copy([read.file], here)
    path = here / read.file
    replace_file(path, path.read_bytes())  # it is written to in place
    expected, problems = read.read(path), []
    for flip in each_flip(path, span):
        try:
            if read.read(path) != expected and read.promise != TEXT:
                problems.append(f"{flip}: accepted silently")
        except FadefourError:
            pass
        except Exception as error:
            problems.append(f"{flip}: {error!r}")
    return Verdict("refused, or read without harm", tuple(problems), 8 * len(span))
