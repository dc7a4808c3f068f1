"""tools/lint: each of its complaints is made in a tree that deserves it, and in no other.

A tree is a copy of what the linter reads, made small: two layers, a page, a map.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT = ROOT / "tools/lint"

QUOTES = '"' * 3
CLOCK = "/* The clock. */\n#include \"base/clock.h\"\n"
ALGO = "/* The algorithms. */\n#include \"base/clock.h\"\n"


def lint(tree, *options):
    return subprocess.run([sys.executable, LINT, "--root", tree, *options], capture_output=True,
                          text=True, check=False)


def write(tree, name, text):
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def tree(tmp_path):
    write(tmp_path, "include/sluice.h", "/* The library. */\n#define SLUICE_VERSION \"1.0\"\n")
    write(tmp_path, "CHANGELOG.md", "# Changes\n\n## Unreleased\n")
    write(tmp_path, "ARCHITECTURE.md", "# Architecture\n\nbase, algo.\n")
    write(tmp_path, "src/base/clock.c", CLOCK)
    write(tmp_path, "src/base/clock.h", "/* The clock. */\nstruct sl_clock {\n    int now;\n};\n")
    write(tmp_path, "src/algo/algo.c", ALGO)
    write(tmp_path, "tools/lint", "")
    (tmp_path / "docs").mkdir()
    lint(tmp_path, "--write-map")
    return tmp_path


def complaints(tree):
    """Everything it says, with the map as it should be."""
    lint(tree, "--write-map")
    result = lint(tree, "--quick")
    assert (result.returncode == 0) == (", 0 complaints," in result.stdout)
    return result.stdout


def test_a_tree_in_order_has_no_complaint(tree):
    result = lint(tree, "--quick")
    assert result.returncode == 0, result.stdout


def test_an_include_against_the_order_of_layers_is_found(tree):
    write(tree, "src/base/clock.c", CLOCK + "#include \"algo/algo.h\"\n")
    assert "src/base/clock.c:3: base must not know algo" in complaints(tree)


def test_an_include_against_the_order_of_sub_folders_is_found(tree):
    write(tree, "ARCHITECTURE.md", "# Architecture\n\nbase, algo, rules.\n")
    write(tree, "src/rules/tree/tree.c", "/* A tree. */\n#include \"rules/ruleset.h\"\n")
    write(tree, "src/rules/ruleset.h", "/* A ruleset. */\n")
    assert "src/rules/tree/tree.c:2: rules/tree must not know rules" in complaints(tree)


def test_a_folder_without_a_place_in_the_order_is_found(tree):
    write(tree, "src/base/odd/odd.c", "/* Odd. */\n")
    assert "its folder is not in ORDER" in complaints(tree)


@pytest.mark.parametrize("text", [
    "/* Nobody has it. */\n",
    "/* Fine. */\nint x; /* for whoever asks */\n",
    "/* Fine. */\n/* The thread\n * who asked. */\n",
    "/* Fine. */\nconst char *x = \"who asks is denied\";\n",
])
def test_a_word_for_people_that_means_no_person_is_found(tree, text):
    write(tree, "src/base/clock.c", text)
    assert "is for people" in complaints(tree)


@pytest.mark.parametrize("text", [
    "/* For people who read it. */\n",
    "/* Fine. */\n/* The users\n * who asked. */\n",
    "/* Fine. */\nint whole, somewho;\n",
    "/* The rule whose limit is least. */\n",
])
def test_people_may_be_called_so(tree, text):
    write(tree, "src/base/clock.c", text)
    assert "is for people" not in complaints(tree)


@pytest.mark.parametrize("name, text", [
    ("docs/guide.md", "# Guide\n\nWhoever asks is answered.\n"),
    ("src/algo/algo.lua", "-- The twin, for whom it concerns.\n"),
    ("tests/unit/test_x.c", "/* A test. */\nTEST(nobody_is_denied)\n{\n}\n"),
    ("tests/e2e/test_x.py", "def test_nobody_is_denied():\n    pass\n"),
    ("tests/e2e/test_x.py", f"{QUOTES}So that nobody is denied.{QUOTES}\n"),
])
def test_words_for_people_are_found_in_documents_scripts_and_names_of_tests(tree, name, text):
    write(tree, name, text)
    assert f"{name}:" in complaints(tree)
    assert "is for people" in complaints(tree)


def test_a_crowded_folder_is_found(tree):
    for i in range(24):
        write(tree, f"src/base/part{i}.h", f"/* Part {i}. */\n")
    assert "src/base: 26 files" in complaints(tree)
    (tree / "src/base/part0.h").unlink()
    assert "src/base: " not in complaints(tree)


def test_two_struct_tags_of_one_name_are_found(tree):
    write(tree, "src/algo/algo.c", ALGO + "struct sl_clock {\n    int other;\n};\n")
    assert "the tag `sl_clock` is also in" in complaints(tree)


def test_a_long_page_of_architecture_is_found(tree):
    write(tree, "ARCHITECTURE.md", "# Architecture\n\nbase, algo." + " word" * 696 + "\n")
    assert "ARCHITECTURE.md:" not in complaints(tree)
    write(tree, "ARCHITECTURE.md", "# Architecture\n\nbase, algo." + " word" * 697 + "\n")
    assert "ARCHITECTURE.md: 701 words" in complaints(tree)


def test_a_stale_map_is_found(tree):
    write(tree, "src/base/new.c", "/* Something new. */\n")
    assert "docs/map.md: stale" in lint(tree, "--quick").stdout
    assert "docs/map.md" not in complaints(tree)


def test_a_file_that_does_not_say_what_it_is_is_found(tree):
    write(tree, "src/base/new.c", "int x;\n")
    assert "begins without a comment" in complaints(tree)
