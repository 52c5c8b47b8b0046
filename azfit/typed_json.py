"""Dataclasses as JSON objects: what a file holds is checked against the types of the fields.

    score = from_json(Score, json.loads(text))
    text = json.dumps(to_json(score))

A field is a number, a text, one of several texts, a truth value, another dataclass, a tuple, a
``dict[str, ...]``, or one of these or None. A field that is None is left out of the object, and one
with a default may be missing from it. Keys that no field has are ignored: a later version may have
written them.
"""

from __future__ import annotations

import math
import types
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """The dataclass as nested dictionaries and lists."""
    if is_dataclass(value):
        entries = ((field.name, getattr(value, field.name)) for field in fields(value))
        return {name: to_json(entry) for name, entry in entries if entry is not None}
    if isinstance(value, dict):
        return {name: to_json(entry) for name, entry in value.items()}
    if isinstance(value, tuple):
        return [to_json(entry) for entry in value]
    return value


def from_json(kind: type[T], data: Any) -> T:
    """The dataclass that these dictionaries and lists describe; ValueError says which entry is
    missing or wrong."""
    return cast(T, _read(kind, data, ""))


def _read(kind: Any, data: Any, path: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (types.UnionType, Union):
        return None if data is None else _read(arguments[0], data, path)
    if is_dataclass(kind):
        return _read_object(kind, data, path)
    if origin is Literal:
        if data not in arguments:
            raise _wrong(path, data, " or ".join(map(repr, arguments)))
        return data
    if origin is tuple:
        return _read_tuple(arguments, data, path)
    if origin is dict:
        entries = _expect(dict, data, path, "an object")
        return {
            name: _read(arguments[1], entry, f"{path}.{name}") for name, entry in entries.items()
        }
    if kind is bool:
        return _expect(bool, data, path, "true or false")
    if kind is str:
        return _expect(str, data, path, "a text")
    if isinstance(data, bool) or not isinstance(data, int if kind is int else (int, float)):
        raise _wrong(path, data, "a whole number" if kind is int else "a number")
    try:
        if isinstance(data, float) and not math.isfinite(data):
            raise OverflowError
        return kind(data)
    except OverflowError:  # a whole number beyond any float, too
        raise _wrong(path, data, "a finite number") from None


def _read_object(kind: Any, data: Any, path: str) -> Any:
    entries = _expect(dict, data, path, "an object")
    hints = get_type_hints(kind)
    values = {}
    for field in fields(kind):
        inner = f"{path}.{field.name}" if path else field.name
        if field.name in entries:
            values[field.name] = _read(hints[field.name], entries[field.name], inner)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"'{inner}' is missing")
    return kind(**values)


def _read_tuple(arguments: tuple[Any, ...], data: Any, path: str) -> tuple[Any, ...]:
    entries = _expect(list, data, path, "a list")
    if arguments[-1] is Ellipsis:
        arguments = arguments[:1] * len(entries)
    if len(entries) != len(arguments):
        raise ValueError(f"'{path}' has {len(entries)} entries, not {len(arguments)}")
    return tuple(
        _read(kind, entry, f"{path}[{i}]")
        for i, (kind, entry) in enumerate(zip(arguments, entries, strict=True))
    )


def _expect(kind: Any, data: Any, path: str, words: str) -> Any:
    if not isinstance(data, kind):
        raise _wrong(path, data, words)
    return data


def _wrong(path: str, data: Any, words: str) -> ValueError:
    shown = repr(data)
    shown = shown if len(shown) <= 40 else shown[:37] + "..."
    return ValueError(f"'{path}' is {shown}, not {words}" if path else f"{shown} is not {words}")
