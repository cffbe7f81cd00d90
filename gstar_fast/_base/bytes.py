"""Bytes of our formats: an envelope of header and checksum, and the numbers and names inside it. Trusts no input."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias

from gstar_fast._base.names import LONGEST_TUPLE, Name, Scalar

CHECKSUM: Final = struct.Struct("<I")  # CRC-32 of all bytes before it
LONGEST_VARINT: Final = 640  # bytes; the largest sum of scores takes about half of it

Refuse: TypeAlias = Callable[[str], NoReturn]  # raises an error that says what is wrong with the bytes


@dataclass(frozen=True)
class Envelope:
    """What stands around the content of a format: a header that ends with the length of all bytes, and a checksum."""

    magic: bytes
    version: int
    header: struct.Struct  # magic, version, fields of the format, length (u64)
    refuse: Refuse
    known: Callable[..., bool] = lambda *_: True  # whether the fields of a header are ones that we know

    def seal(self, fields: tuple[int, ...], body: bytes) -> bytes:
        """The body with its header in front and the checksum behind."""
        length = self.header.size + len(body) + CHECKSUM.size
        signed = self.header.pack(self.magic, self.version, *fields, length) + body
        return signed + CHECKSUM.pack(zlib.crc32(signed))

    def open(self, data: bytes | memoryview) -> tuple[tuple[int, ...], int]:
        """The header's own fields, and where the body ends; rejects bytes that are not ours or were damaged."""
        if len(data) < self.header.size + CHECKSUM.size:
            self.refuse(f"it has {len(data)} bytes, too few")
        magic, version, *fields, length = self.header.unpack_from(data)
        if magic != self.magic:
            self.refuse("it does not begin like one")
        if version != self.version:
            ours = f"this library reads version {self.version}; install a newer one"
            self.refuse(f"it is of version {version}, and {ours}")
        if not self.known(*fields):
            self.refuse("it has unknown flags")
        if length != len(data):
            self.refuse("its length is not what it says; it may be cut off")
        end = len(data) - CHECKSUM.size
        if CHECKSUM.unpack_from(data, end)[0] != zlib.crc32(memoryview(data)[:end]):
            self.refuse("its checksum is wrong; it is damaged")
        return tuple(fields), end


# ---------------------------------------------------------------------------------------------------------------- write


def varint(value: int) -> bytes:
    """LEB128 of an unsigned integer of any size."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value: int) -> bytes:
    """Signed integer, small in size -> few bytes."""
    return varint(2 * value if value >= 0 else -2 * value - 1)


def name_bytes(name: Name) -> bytes:
    """A name with its type in front."""
    if isinstance(name, bool):
        return bytes((2, name))
    if isinstance(name, int):
        return b"\0" + zigzag(name)
    if isinstance(name, str):
        text = name.encode("utf-8")
        return b"\1" + varint(len(text)) + text
    return b"\3" + varint(len(name)) + b"".join(map(name_bytes, name))


# ----------------------------------------------------------------------------------------------------------------- read


class Reader:
    """Takes values off the front of some bytes; rejects when they run out or are not in shortest form."""

    def __init__(self, data: bytes, start: int, end: int, refuse: Refuse) -> None:
        self.data, self.at, self.end, self.refuse = data, start, end, refuse

    def take(self, n: int) -> bytes:
        """The next n bytes."""
        if n > self.end - self.at:
            self.refuse("it ends too early")
        self.at += n
        return self.data[self.at - n : self.at]

    def varint(self, below: int | None = None) -> int:
        """An unsigned integer, less than `below` if that is given."""
        value = shift = 0
        for _ in range(LONGEST_VARINT):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                if byte == 0 and shift > 7:
                    self.refuse("a number is not in its shortest form")
                if below is not None and value >= below:
                    self.refuse("a number is too large")
                return value
        return self.refuse("a number is too large")

    def zigzag(self) -> int:
        """A signed integer."""
        value = self.varint()
        return -(value + 1 >> 1) if value & 1 else value >> 1

    def text(self) -> str:
        """A string."""
        try:
            return self.take(self.varint()).decode("utf-8")
        except UnicodeDecodeError:
            return self.refuse("a name is not valid UTF-8")

    def name(self) -> Name:
        """A group's name."""
        kind = self.take(1)[0]
        if kind != 3:
            return self.scalar(kind)
        n = self.varint(LONGEST_TUPLE + 1)
        if n == 0:
            self.refuse("a group's name is an empty tuple")
        return tuple(self.scalar() for _ in range(n))

    def scalar(self, kind: int | None = None) -> Scalar:
        """A name that is not a tuple; `kind` is its first byte where that was taken."""
        kind = self.take(1)[0] if kind is None else kind
        if kind == 0:
            number = self.zigzag()
            if not -(2**63) <= number < 2**63:
                self.refuse("a group's number does not fit into 64 bits")
            return number
        if kind == 1:
            return self.text()
        if kind == 2:
            return bool(self.varint(2))
        return self.refuse("a group's name has an unknown type")
