"""The reader of structured fields that other tests rely on."""

from decimal import Decimal

import pytest
import structured_fields
from structured_fields import Date, DisplayString, InnerList, Item, Malformed, Token

GOOD_ITEMS = [
    # integers
    ("0", 0),
    ("-0", 0),
    ("42", 42),
    ("-7", -7),
    ("007", 7),
    ("999999999999999", 999999999999999),
    ("-999999999999999", -999999999999999),
    # decimals
    ("1.5", Decimal("1.5")),
    ("-0.125", Decimal("-0.125")),
    ("00.10", Decimal("0.1")),
    ("123456789012.123", Decimal("123456789012.123")),
    # strings
    ('""', ""),
    ('"api"', "api"),
    ('"a b;c=d, e"', "a b;c=d, e"),
    (r'"say \"no\" \\ now"', 'say "no" \\ now'),
    ('"~ !"', "~ !"),
    # tokens
    ("gzip", Token("gzip")),
    ("*", Token("*")),
    ("*/*", Token("*/*")),
    ("text/html:x", Token("text/html:x")),
    ("A!#$%&'*+-.^_`|~9", Token("A!#$%&'*+-.^_`|~9")),
    # byte sequences
    ("::", b""),
    (":AA==:", b"\0"),
    (":AA:", b"\0"),
    (":c2x1aWNl:", b"sluice"),
    (":+/8=:", b"\xfb\xff"),
    # booleans
    ("?1", True),
    ("?0", False),
    # dates
    ("@0", Date(0)),
    ("@1700000000", Date(1700000000)),
    ("@-62135596800", Date(-62135596800)),
    # display strings
    ('%""', DisplayString("")),
    ('%"plain \\ text"', DisplayString("plain \\ text")),
    ('%"gr%c3%bc%c3%9fe %22%25%22"', DisplayString('grüße "%"')),
    ('%"%f0%9f%98%80"', DisplayString("😀")),
    # spaces around
    ("  1", 1),
    ("1   ", 1),
]


@pytest.mark.parametrize("field, value", GOOD_ITEMS)
def test_an_item_is_read(field, value):
    found = structured_fields.item(field)
    assert found == Item(value, {})
    assert type(found.value) is type(value)
    assert structured_fields.item(field.encode()) == found
    assert structured_fields.items(field) == [found]


BAD_ITEMS = [
    "", " ", "\t1", "1\t", "1 2", "1,2", "(1)", "é", b"\xff", "1\r\n", "\x00",
    # numbers
    "-", "--1", "+1", "- 1", "1000000000000000", "-1000000000000000", "1e3", "0x1",
    ".5", "1.", "-.5", "1.2345", "1234567890123.1", "1234567890123.", "1.2.3", "1_000",
    # strings
    '"', '"a', '"a\\', '"a\\n"', '"a\tb"', '"a\x7f"', '"é"', "'a'", '"a"b', '"a" "b"',
    # tokens
    "/a", "a b", "a(", "a,", "!a", 'a"b"',
    # byte sequences
    ":", ":AA==", ":A:", ":A===:", ":AA=:", ":=AA=:", ":A A=:", ":AA-_:", ":AA==AA==:", "AA==:",
    # booleans
    "?", "?2", "?10", "? 1", "?true", "?T",
    # dates
    "@", "@1.0", "@1.5", "@x", "@ 1", "@1000000000000000", "@2023-11-14",
    # display strings
    "%", "%a", '%"', '%"a', '%"%"', '%"%a"', '%"%C3%BC"', '%"%g0"', '%"%c3"', '%"%ed%a0%80"',
    '%"a\x7f"', '%"\t"', '%"ü"', '% "a"',
]


@pytest.mark.parametrize("field", BAD_ITEMS)
def test_what_is_no_item_is_refused(field):
    with pytest.raises(Malformed):
        structured_fields.item(field)


GOOD_PARAMETERS = [
    ('"api";q=150;w=15', Item("api", {"q": 150, "w": 15})),
    ("a;b", Item(Token("a"), {"b": True})),
    ("a;b=?0", Item(Token("a"), {"b": False})),
    ("a;  b=1;   c", Item(Token("a"), {"b": 1, "c": True})),
    ("1;*x_-.*9=tok", Item(1, {"*x_-.*9": Token("tok")})),
    ("1;a=1;b=2;a=3", Item(1, {"a": 3, "b": 2})),
    ('1;s="a;b=c"', Item(1, {"s": "a;b=c"})),
    ("1;d=@5;y=:AA==:;n=-1.5", Item(1, {"d": Date(5), "y": b"\0", "n": Decimal("-1.5")})),
]


@pytest.mark.parametrize("field, wanted", GOOD_PARAMETERS)
def test_parameters_are_read(field, wanted):
    found = structured_fields.item(field)
    assert found == wanted
    assert list(found.parameters) == list(wanted.parameters)


BAD_PARAMETERS = [
    "a;", "a; ", "a;;b", "a;B=1", "a;1=1", "a;-b=1", "a;_b=1", "a;b=", "a;b =1", "a;b= 1", "a ;b",
    "a;\tb", "a;b=(1)", "a;b=1 ;c", "a;b.ü=1", ";a", "a;=1",
]


@pytest.mark.parametrize("field", BAD_PARAMETERS)
def test_what_are_no_parameters_is_refused(field):
    with pytest.raises(Malformed):
        structured_fields.item(field)


def plain(*values, **parameters):
    return InnerList(tuple(Item(value, {}) for value in values), parameters)


GOOD_LISTS = [
    ("", []),
    ("   ", []),
    ("1", [Item(1, {})]),
    ("1,2", [Item(1, {}), Item(2, {})]),
    ("1 ,\t2 \t,  3", [Item(1, {}), Item(2, {}), Item(3, {})]),
    ("a;x, b;y=1", [Item(Token("a"), {"x": True}), Item(Token("b"), {"y": 1})]),
    ('"a";r=1;t=2, "b";r=0', [Item("a", {"r": 1, "t": 2}), Item("b", {"r": 0})]),
    ("()", [plain()]),
    ("(  )", [plain()]),
    ("(1 2)", [plain(1, 2)]),
    ("( 1   2 );p=3", [plain(1, 2, p=3)]),
    ("(1;a 2), 3", [InnerList((Item(1, {"a": True}), Item(2, {})), {}), Item(3, {})]),
    ("(a), (b);c, ()", [plain(Token("a")), plain(Token("b"), c=True), plain()]),
]


@pytest.mark.parametrize("field, wanted", GOOD_LISTS)
def test_a_list_is_read(field, wanted):
    assert structured_fields.items(field) == wanted


BAD_LISTS = [
    ",", "1,", "1, ", "1,,2", ",1", "1 2", "1;2", "\t1", "1\n,2", "(", "(1", "(1 ", ")", "(1,2)",
    "(1\t2)", '("a""b")', "((1))", "(1)2", "(1) (2)", "(1);", "1, (2", "é, 1",
]


@pytest.mark.parametrize("field", BAD_LISTS)
def test_what_is_no_list_is_refused(field):
    with pytest.raises(Malformed):
        structured_fields.items(field)


def test_a_failure_says_where_it_is():
    with pytest.raises(Malformed, match=r"expected a key at 2 of 'a;B'"):
        structured_fields.item("a;B")
