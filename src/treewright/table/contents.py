"""What is in a file: its bytes, unpacked, and its text in whatever encoding."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from treewright.table.categories import some

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")

# The longer mark first: that of UTF-32 begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"

# How files of binary formats begin.
_SIGNATURES = ((b"PAR1", ".parquet"), (b"ARROW1", ".feather"), (b"FEA1", ".feather"))


@dataclass(frozen=True, eq=False)
class Content:
    """A file that has been read: the name for messages, the suffix that decides how it is read, and its bytes."""

    name: str
    suffix: str
    data: bytes

    def text(self, encoding: str | None) -> Text:
        """The text of the file, by its byte order mark or UTF-8 if no encoding is given."""
        marked = next((codec for mark, codec in _BYTE_ORDER_MARKS if self.data.startswith(mark)), None)
        codec = encoding or marked or "utf-8"
        if codec == "utf-8" and self.data.isascii():
            text = Text(self.data)
        else:
            text = Text.of(self._decoded(codec, encoding).removeprefix("\ufeff"))
        if b"\0" in text.data:
            raise ValueError(_zeros_sentence(self.data))
        if not text.data[:1000].strip() and not text.data.strip():
            raise ValueError("the file is empty")
        return text

    def _decoded(self, codec: str, given: str | None) -> str:
        try:
            return self.data.decode(codec)
        except UnicodeDecodeError as error:
            if codec == "utf-8" and _has_zeros_of_utf16(self.data):
                raise ValueError(_zeros_sentence(self.data)) from None
            raise ValueError(f"byte {error.start} is not {codec.upper()}; {_advice(given)}") from None


@dataclass(frozen=True, eq=False)
class Text:
    """A text as UTF-8, which a fast reader takes as it is; others decode it."""

    data: bytes

    @staticmethod
    def of(text: str) -> Text:
        return Text(text.encode("utf-8", "surrogatepass"))

    def decoded(self, most: int | None = None) -> str:
        """The text, or its first bytes without a letter that is cut."""
        if most is None or most >= len(self.data):
            return self.data.decode("utf-8", "surrogatepass")
        return self.data[:most].decode("utf-8", "ignore")


def open_content(source: Any) -> Content:
    """Read a file, given by its path or open, and unpack it."""
    if hasattr(source, "read"):
        return _unpacked(_from_open_file(source))
    if isinstance(source, str) and _ADDRESS.match(source):
        raise ValueError(f"{source} is an address of the web, and only files are read; download it first")
    path = Path(source)
    if path.is_dir():
        raise ValueError(f"{path} is a directory; give the path of a file")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path.name}: the file cannot be read ({error.strerror or error})") from None
    return _unpacked(Content(path.name, path.suffix.lower(), data))


def _from_open_file(file: Any) -> Content:
    """The rest of an open file; its name gives the suffix, or else what it begins with."""
    data = file.read()
    name = getattr(file, "name", None)
    if not isinstance(name, str) or name.startswith("<"):
        name = "standard input" if name == "<stdin>" else "the file"
    path = PurePosixPath(name)
    content = data.encode() if isinstance(data, str) else bytes(data)
    return Content(path.name, path.suffix.lower() or _suffix_of(content), content)


def _unpacked(content: Content) -> Content:
    """The content of a .gz file, or of the only file in a .zip file; others as they are."""
    try:
        if content.suffix == ".gz":
            return _unpacked_gzip(content)
        return _unpacked_zip(content) if content.suffix == ".zip" else content
    except (EOFError, OSError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        kind = "gzip" if content.suffix == ".gz" else "zip"
        raise ValueError(f"{content.name}: the file cannot be unpacked; it is no {kind} file or is cut short") from None


def _unpacked_gzip(content: Content) -> Content:
    data = gzip.decompress(content.data)
    inner = PurePosixPath(content.name).with_suffix("")
    is_named = content.name.lower().endswith(".gz")
    return Content(content.name, inner.suffix.lower() or ".gz" if is_named else _suffix_of(data), data)


def _unpacked_zip(content: Content) -> Content:
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        # macOS adds files of its own.
        names = [
            one.filename
            for one in archive.infolist()
            if not one.is_dir()
            and not PurePosixPath(one.filename).name.startswith(".")
            and "__MACOSX" not in one.filename
        ]
        if len(names) != 1:
            found = f"{len(names)} files ({some(names)})" if names else "no file"
            raise ValueError(f"{content.name}: the archive has {found}, not one table; unpack it and give one of them")
        inner = PurePosixPath(names[0])
        return Content(f"{inner.name} in {content.name}", inner.suffix.lower(), archive.read(names[0]))


def _suffix_of(data: bytes) -> str:
    """The suffix that a file without a name would have, by how it begins."""
    for signature, suffix in _SIGNATURES:
        if data.startswith(signature):
            return suffix
    if data.startswith(_GZIP):
        return ".gz"
    if data.startswith(_ZIP):
        return ".xlsx" if b"xl/workbook" in data or b"[Content_Types].xml" in data[:200] else ".zip"
    start = data[:1000].lstrip(codecs.BOM_UTF8 + b" \t\r\n").lower()
    if start.startswith((b"{", b"[")):
        return ".json"
    return ".arff" if start.startswith((b"@relation", b"@attribute")) else ".txt"


def _advice(encoding: str | None) -> str:
    if encoding is not None:
        return "give the encoding that the file has"
    return "give its encoding, such as encoding='latin-1', encoding='cp1252' or encoding='utf-16'"


def _has_zeros_of_utf16(data: bytes) -> bool:
    """Whether nearly half of the first bytes are zero."""
    return 2.5 * data[:1000].count(0) >= len(data[:1000])


def _zeros_sentence(data: bytes) -> str:
    if not _has_zeros_of_utf16(data):
        return "the file holds binary data, not a table of text"
    order = "utf-16-be" if data[:1] == b"\0" else "utf-16-le"
    return f"every second byte is zero, as in UTF-16; give encoding='{order}'"
