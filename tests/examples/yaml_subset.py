"""Reads the YAML that the examples are written in, for the reference model.

Block maps and lists of maps, one-line {flow: maps} and [flow, lists], plain and
quoted scalars, comments. Decimals stay text: the model wants them exact. What
is outside of this fails loudly; the program's own reader is the real one.
"""

import re

TOKEN = re.compile(r"""\s*("[^"]*"|'[^']*'|[][{},]|[^][{},:\s](?:[^][{},:]|:(?!\s))*|:)""")


def load(text):
    lines = [line for line in map(without_comment, text.splitlines()) if line.strip()]
    value, rest = block(lines, indent_of(lines[0]))
    assert not rest, f"cannot read {rest[0]!r}"
    return value


def without_comment(line):
    return re.sub(r"(^|\s)#.*", "", line).rstrip()


def indent_of(line):
    return len(line) - len(line.lstrip())


def block(lines, indent):
    """The map or list that starts here, and the lines after it."""
    if lines[0].lstrip().startswith("- "):
        items = []
        while lines and indent_of(lines[0]) == indent and lines[0].lstrip().startswith("- "):
            inner = [lines[0].replace("- ", "  ", 1)] + lines[1:]
            item, lines = block(inner, indent_of(inner[0]))
            items.append(item)
        return items, lines
    mapping = {}
    while lines and indent_of(lines[0]) == indent:
        key, colon, value = lines[0].strip().partition(":")
        assert colon and key not in mapping, f"cannot read {lines[0]!r}"
        lines = lines[1:]
        if value.strip():
            mapping[key] = flow(TOKEN.findall(value))
        else:
            mapping[key], lines = block(lines, indent_of(lines[0]))
    return mapping, lines


def flow(tokens):
    value = one(tokens)
    assert not tokens, f"cannot read {tokens}"
    return value


def one(tokens):
    """The value at the head of the tokens, which it takes away."""
    token = tokens.pop(0)
    if token not in ("{", "["):
        return scalar(token.strip())
    result, end = ({}, "}") if token == "{" else ([], "]")
    while tokens[0] != end:
        if end == "]":
            result.append(one(tokens))
        else:
            key = one(tokens)
            assert tokens.pop(0) == ":"
            result[key] = one(tokens)
        if tokens[0] == ",":
            tokens.pop(0)
    tokens.pop(0)
    return result


def scalar(token):
    if token[0] in "\"'":
        return token[1:-1]
    if token in ("true", "false"):
        return token == "true"
    return int(token) if re.fullmatch(r"-?\d+", token) else token
