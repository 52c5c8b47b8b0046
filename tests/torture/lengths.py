"""Files that end too early or too late, at every boundary there is and a byte beside it.

By the functions, at every boundary of a file: its header, records, pages and blocks; the members
of JSON, of archives and of checkpoints; the frames of games; lines. By the commands, at a sample
of these.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

from solver.errors import FadefourError
from torture.campaign import Setting, Trial, Verdict
from torture.functions import READS, Read
from torture.inputs import Inputs
from torture.kinds import KINDS
from torture.readers import APPENDED, TEXT, Kind, Reader, judged, replace_file

HEADER, RECORD, PAGE, BLOCK, FRAME = 8, 14, 1 << 12, 1 << 16, 12
BY_COMMAND = 3  # lengths that a command is tried with, of each file
TAILS_BY_COMMAND = 1
AT_A_TIME = 200  # lengths that a function is tried with in a trial
TAILS = (b"\0", b"\n", b"x", bytes(RECORD), bytes(PAGE), bytes(BLOCK))


def trials(setting: Setting, inputs: Inputs) -> Iterator[Trial]:
    for kind in setting.share_of(KINDS, "kinds", times=10):
        for reader in kind.readers:
            yield from _by_command(setting, inputs, kind, reader)
    for read in setting.share_of(READS, "reads", times=10):
        yield from _by_function(setting, inputs, read)


# ---- boundaries ---------------------------------------------------------------------------------


def boundaries(path: Path) -> set[int]:
    """The places in a file at which something ends."""
    data = path.read_bytes()
    size = len(data)
    places = {0, size, *range(0, size, PAGE), *range(0, size, BLOCK)}
    if path.suffix == ".data":
        places |= set(range(HEADER, size, RECORD))
    elif path.suffix == ".safetensors":
        header = 8 + struct.unpack_from("<Q", data)[0]
        entries = json.loads(data[8:header])
        ends = [entry["data_offsets"][1] for name, entry in entries.items() if name[0] != "_"]
        members = re.finditer(rb"[{},]", data[8:header])
        places |= {8, header, *(header + end for end in ends)}
        places |= {8 + member.end() for member in members}
    elif path.suffix == ".npz":
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            places |= {info.header_offset for info in members} | {archive.start_dir, size - 22}
            places |= {info.header_offset + 30 + len(info.filename) for info in members}
    elif path.suffix == ".book":
        header = data.index(b"\n", data.index(b"\n") + 1) + 1
        members = re.finditer(rb"[{}:,\n]", data[:header])
        further = size - 9 * json.loads(data.splitlines()[1])["further"]
        places |= {member.end() for member in members}
        places |= {further, *range(header, further), *range(further, size, 8)}
    elif path.suffix == ".sqlite":
        places |= {16, 100}  # its first words, its header; its pages are pages
    elif path.suffix == ".games":
        places |= _frame_ends(data) | {end + FRAME for end in _frame_ends(data)}
    elif path.suffix in (".json", ".jsonl", ".toml", ".txt"):
        places |= {member.end() for member in re.finditer(rb"[\[\]{},:=\n]", data)}
    return places


def _frame_ends(data: bytes) -> set[int]:
    ends, at = {0}, 0
    while at < len(data):
        at += FRAME + struct.unpack_from("<I", data, at + 4)[0]
        ends.add(at)
    return ends


def lengths(path: Path) -> list[int]:
    """Every boundary, a byte less and a byte more, where that is shorter than the file."""
    size = path.stat().st_size
    near = {boundary + step for boundary in boundaries(path) for step in (-1, 0, 1)}
    return sorted(length for length in near if 0 <= length < size)


# ---- commands -----------------------------------------------------------------------------------


def _by_command(setting: Setting, inputs: Inputs, kind: Kind, reader: Reader) -> Iterator[Trial]:
    path = inputs.file(kind.file)
    cuts = lengths(path)
    draw = setting.random("cuts", kind.name, reader.name)
    cuts = draw.sample(cuts, min(len(cuts), 1 if reader.is_slow else BY_COMMAND))
    inputs.expect(reader)
    for cut in setting.share_of(cuts, kind.name, reader.name):
        label = f"the first {cut} bytes of {kind.file}: {reader.name}"
        yield Trial(
            f"cut short, {kind.group}",
            label,
            lambda here, size=cut: _cut(inputs, kind, reader, size, here),
        )
    tails = draw.sample(TAILS, TAILS_BY_COMMAND)
    for tail in setting.share_of(tails, "tails", kind.name, reader.name):
        label = f"{kind.file} and {tail[:1]!r} {len(tail)} times: {reader.name}"
        yield Trial(
            f"too long, {kind.group}",
            label,
            lambda here, more=tail: _lengthened(inputs, kind, reader, more, here),
        )


def _cut(inputs: Inputs, kind: Kind, reader: Reader, size: int, here: Path) -> Verdict:
    inputs.copy([*reader.command, kind.file], here)
    data = (here / kind.file).read_bytes()[:size]
    return judged(kind, reader, here, data, inputs.expected[reader], is_cut=True)


def _lengthened(inputs: Inputs, kind: Kind, reader: Reader, tail: bytes, here: Path) -> Verdict:
    inputs.copy([*reader.command, kind.file], here)
    data = (here / kind.file).read_bytes() + tail
    return judged(kind, reader, here, data, inputs.expected[reader], is_cut=True)


# ---- functions ----------------------------------------------------------------------------------


def _by_function(setting: Setting, inputs: Inputs, read: Read) -> Iterator[Trial]:
    cuts = setting.share_of(lengths(inputs.file(read.file)), "cuts", read.name)
    for first in range(0, len(cuts), AT_A_TIME):
        batch = cuts[first : first + AT_A_TIME]
        yield Trial(
            f"cut at every boundary, {read.promise}",
            f"{read.file} cut to {batch[0]} to {batch[-1]} bytes",
            lambda here, sizes=batch: _each_cut(inputs, read, sizes, here),
            len(batch),
        )


def _each_cut(inputs: Inputs, read: Read, sizes: list[int], here: Path) -> Verdict:
    inputs.copy([read.file], here)
    path = here / read.file
    data = path.read_bytes()
    expected, problems = read.read(path), []
    for size in sizes:
        replace_file(path, data[:size])
        try:
            value = read.read(path)
        except FadefourError:
            continue
        except Exception as error:
            problems.append(f"{size} bytes: {error!r}")
            continue
        if read.promise == APPENDED:
            whole = sum(0 < end <= size for end in _frame_ends(data))
            right = value == expected[:whole]
        else:
            right = value == expected or read.promise == TEXT
        if not right:
            problems.append(f"{size} bytes: accepted silently")
    return Verdict("refused, or read as far as it is whole", tuple(problems), len(sizes))
