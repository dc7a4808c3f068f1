"""Structured field values (RFC 9651), read strictly: what the RFC's parsing
algorithms (section 4.2) refuse is refused here, with the place.

    items(field)    a List: Items and InnerLists
    item(field)     one Item

An Item has a `value` and `parameters` (a dict, in their order; a bare one is True).
An InnerList has `items` and `parameters`. Values: int, Decimal, str (a String),
Token, bytes, bool, Date and DisplayString. Written for tests: clear, not fast.
"""

import base64
import re
from decimal import Decimal
from typing import Any, Dict, List, NamedTuple, Tuple, Union


class Malformed(ValueError):
    """The field is not what it should be: a recipient ignores it whole."""


class Token(str):
    """A short word, unlike a String without quotes."""


class DisplayString(str):
    """Text with any characters, for people."""


class Date(int):
    """Seconds since 1970."""


class Item(NamedTuple):
    """A value and what is said of it."""

    value: Any
    parameters: Dict[str, Any]


class InnerList(NamedTuple):
    """Items in parentheses."""

    items: Tuple[Item, ...]
    parameters: Dict[str, Any]


KEY = re.compile(r"[a-z*][a-z0-9_\-.*]*")
NUMBER = re.compile(r"-?([0-9]+)(?:(\.)([0-9]*))?")
TOKEN = re.compile(r"[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*")
BYTES = re.compile(r":([^:]*):")
BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
HEX = re.compile(r"[0-9a-f]{2}")


class _Reader:
    def __init__(self, field: Union[str, bytes]):
        try:
            self.text = field.decode("ascii") if isinstance(field, bytes) else field
            self.text.encode("ascii")
        except UnicodeError as error:
            raise Malformed("not ASCII") from error
        self.at = 0

    # ---- characters ----

    def fail(self, what: str) -> Malformed:
        return Malformed(f"{what} at {self.at} of {self.text!r}")

    @property
    def next(self) -> str:
        """The next character, or nothing at the end."""
        return self.text[self.at:self.at + 1]

    def take(self, character: str) -> bool:
        if self.next != character:
            return False
        self.at += 1
        return True

    def skip(self, characters: str) -> None:
        while self.next and self.next in characters:
            self.at += 1

    def match(self, pattern: "re.Pattern[str]", what: str) -> "re.Match[str]":
        found = pattern.match(self.text, self.at)
        if not found:
            raise self.fail(f"expected {what}")
        self.at = found.end()
        return found

    def whole(self, read):
        """The field, spaces around it aside."""
        self.skip(" ")
        result = read()
        self.skip(" ")
        if self.next:
            raise self.fail("something behind it")
        return result

    # ---- structures ----

    def list(self) -> List[Union[Item, InnerList]]:
        members: List[Union[Item, InnerList]] = []
        while self.next:
            members.append(self.inner_list() if self.next == "(" else self.item())
            self.skip(" \t")
            if not self.next:
                break
            if not self.take(","):
                raise self.fail("expected a comma")
            self.skip(" \t")
            if not self.next:
                raise self.fail("a comma at the end")
        return members

    def inner_list(self) -> InnerList:
        members = []
        self.take("(")
        while True:
            self.skip(" ")
            if self.take(")"):
                return InnerList(tuple(members), self.parameters())
            members.append(self.item())
            if self.next not in (" ", ")"):
                raise self.fail("expected a space or `)`")

    def item(self) -> Item:
        return Item(self.bare_item(), self.parameters())

    def parameters(self) -> Dict[str, Any]:
        found: Dict[str, Any] = {}
        while self.take(";"):
            self.skip(" ")
            key = self.match(KEY, "a key")[0]
            found[key] = self.bare_item() if self.take("=") else True
        return found

    # ---- values ----

    def bare_item(self) -> Any:
        first = self.next
        if first and first in "-0123456789":
            return self.number()
        if first.isalpha() or first == "*":
            return Token(self.match(TOKEN, "a token")[0])
        read = {'"': self.string, ":": self.byte_sequence, "?": self.boolean, "@": self.date,
                "%": self.display_string}.get(first)
        if not read:
            raise self.fail("expected a value")
        return read()

    def number(self) -> Union[int, Decimal]:
        found = self.match(NUMBER, "a digit")
        whole, dot, fraction = found.groups()
        if not dot:
            if len(whole) > 15:
                raise self.fail("an integer of more than 15 digits")
            return int(found[0])
        if len(whole) > 12 or not 1 <= len(fraction) <= 3:
            raise self.fail("a decimal has at most 12 digits, a point, and 1 to 3 more")
        return Decimal(found[0])

    def visible(self) -> str:
        """One printable character; the end is not for a quoted text."""
        character = self.next
        if not " " <= character <= "~":
            raise self.fail("no end of the text" if not character else "a control character")
        self.at += 1
        return character

    def string(self) -> str:
        text = ""
        self.take('"')
        while not self.take('"'):
            character = self.visible()
            if character == "\\":
                character = self.visible()
                if character not in '"\\':
                    raise self.fail("an escape of neither quote nor backslash")
            text += character
        return text

    def byte_sequence(self) -> bytes:
        text = self.match(BYTES, "bytes between colons")[1]
        padded = "=" in text
        if not BASE64.fullmatch(text) or len(text) % 4 == 1 or (padded and len(text) % 4):
            raise self.fail("not base64")
        return base64.b64decode(text + "=" * (-len(text) % 4))

    def boolean(self) -> bool:
        self.take("?")
        if self.take("1"):
            return True
        if self.take("0"):
            return False
        raise self.fail("neither ?0 nor ?1")

    def date(self) -> Date:
        self.take("@")
        seconds = self.number()
        if isinstance(seconds, Decimal):
            raise self.fail("a date of no whole second")
        return Date(seconds)

    def display_string(self) -> DisplayString:
        text = bytearray()
        self.take("%")
        if not self.take('"'):
            raise self.fail("expected a quote")
        while not self.take('"'):
            character = self.visible()
            if character == "%":
                text.append(int(self.match(HEX, "two lowercase hexadecimal digits")[0], 16))
            else:
                text += character.encode()
        try:
            return DisplayString(text.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise self.fail("not UTF-8") from error


def items(field: Union[str, bytes]) -> List[Union[Item, InnerList]]:
    """A field that is a List. Its lines, if there are several, joined by commas."""
    reader = _Reader(field)
    return reader.whole(reader.list)


def item(field: Union[str, bytes]) -> Item:
    """A field that is an Item."""
    reader = _Reader(field)
    return reader.whole(reader.item)
