"""What the binding thinks of the header is what a C compiler thinks of it."""

import ctypes
import re
import struct
import subprocess

import pytest
from conftest import ROOT
from sluice import _errors, _native

HEADER = ROOT / "include/sluice.h"
TEXT = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)


def fields_in_header(name):
    body = re.search(rf"struct {name} \{{(.*?)\n\}};", TEXT, re.S)[1]
    return re.findall(r"(\w+)(?:\[\w+\])?;", body)


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """Sizes, offsets and constants, printed by a compiled C program."""
    folder = tmp_path_factory.mktemp("layout")
    lines = []
    for name in _native.STRUCTS:
        lines.append(f'printf("{name} %zu\\n", sizeof(struct {name}));')
        for field in fields_in_header(name):
            lines.append(f'printf("{name}.{field} %zu:%zu\\n", offsetof(struct {name}, {field}), '
                         f"sizeof(((struct {name} *)0)->{field}));")
    for constant in ("NOW", "NO_TRUST", "NONE", "NEVER", "OK"):
        lines.append(f'printf("{constant} %d\\n", SLUICE_{constant});')
    lines.append("#define STATUS(constant, number, text) "
                 'printf("status %d %s\\n", constant, text);')
    lines.append("SLUICE_STATUSES(STATUS)")
    lines.append('#define REASON(constant, name) printf("reason %d %s\\n", constant, name);')
    lines.append("SLUICE_REASONS(REASON)")
    source = folder / "layout.c"
    source.write_text("#include <sluice.h>\n#include <stdio.h>\nint main(void) {\n"
                      + "\n".join(lines) + "\n}\n")
    subprocess.run(["gcc", "-std=c17", "-Wall", "-Werror", f"-I{HEADER.parent}", source, "-o",
                    folder / "layout"], check=True)
    return subprocess.run([folder / "layout"], check=True, capture_output=True,
                          text=True).stdout.splitlines()


def table(facts, prefix):
    rows = (line.split(" ", 2)[1:] for line in facts if line.startswith(prefix + " "))
    return {int(number): text for number, text in rows}


def test_every_struct_of_the_header_is_here():
    assert set(re.findall(r"struct (\w+) \{", TEXT)) == set(_native.STRUCTS)


@pytest.mark.parametrize("name", _native.STRUCTS)
def test_a_struct_is_laid_out_as_in_c(facts, name):
    mirror = _native.STRUCTS[name]
    assert [field for field, _ in mirror._fields_] == fields_in_header(name)
    assert f"{name} {ctypes.sizeof(mirror)}" in facts
    for field, _ in mirror._fields_:
        here = getattr(mirror, field)
        assert f"{name}.{field} {here.offset}:{here.size}" in facts


def test_a_decision_is_unpacked_field_by_field_where_it_lies():
    assert _native.DECISION.size == ctypes.sizeof(_native.Decision)
    codes = re.findall(r"\d*[?a-zA-Z]", _native.DECISION.format)
    for number, (name, _) in enumerate(_native.Decision._fields_):
        field, code = getattr(_native.Decision, name), codes[number]
        before = "@" + "".join(codes[:number])
        assert struct.calcsize(before + "0" + code.lstrip("0123456789")) == field.offset
        assert struct.calcsize("@" + code) == field.size


def test_constants_are_those_of_the_header(facts):
    for constant in ("NOW", "NO_TRUST", "NONE", "NEVER", "OK"):
        assert f"{constant} {getattr(_native, constant)}" in facts


def test_every_status_has_its_exception_and_text(facts):
    statuses = table(facts, "status")
    assert set(_errors.BY_STATUS) == set(statuses) - {0}
    for number, text in statuses.items():
        assert _native.lib.sluice_status_text(number).decode() == text
        if number:
            error = _errors.error_of(number)
            assert (type(error).status, error.status, error.text) == (number, number, text)
            assert str(_errors.error_of(number, "so")) == "so"


def test_an_unknown_status_is_still_an_exception():
    error = _errors.error_of(-99)
    assert type(error) is _errors.SluiceError and error.status == -99


def test_reasons_have_the_header_s_names(facts):
    for number, name in table(facts, "reason").items():
        assert _native.lib.sluice_reason_name(number).decode() == name


def test_every_function_is_declared_with_as_many_arguments():
    library = TEXT[TEXT.index("const char *sluice_version"):]
    library = re.sub(r"static inline.*?\n\}", "", library, flags=re.S)
    found = re.findall(r"^[\w ]+?[ *](sluice_\w+)\(([^)]*)\);", library, re.S | re.M)
    counts = {name: 0 if arguments == "void" else arguments.count(",") + 1
              for name, arguments in found}
    assert counts == {name: len(row) - 1 for name, row in _native.FUNCTIONS.items()}
