"""libsluice as a program meets it: what it exports, its header, its examples,
built against what `make install` puts in place.

The sanitized build has no library: its code runs there in the unit tests.
"""

import os
import re
import subprocess

import pytest

from program import ROOT, SLUICE, TIMEOUT_S

BUILD = SLUICE.parent
HEADER = ROOT / "include/sluice.h"
EXAMPLES = sorted(path.stem for path in (ROOT / "examples/c").glob("*.c"))

pytestmark = pytest.mark.skipif(BUILD.name == "asan", reason="no library in this build")


def run(*words, **settings):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=False, **settings)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def promised():
    """The functions that the header declares and does not define itself."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.S)
    declared = set(re.findall(r"\b(sluice_\w+)\([^{};]*\);", text))
    defined = set(re.findall(r"\bstatic inline [^;{]*?\b(sluice_\w+)\(", text))
    return declared - defined


def version():
    return re.search(r'#define SLUICE_VERSION "(.+)"', HEADER.read_text(encoding="utf-8"))[1]


def test_the_header_promises_functions():
    assert {"sluice_open", "sluice_decide", "sluice_limit_decide", "sluice_cancel"} <= promised()
    assert "sluice_request" not in promised()


def test_the_manual_names_every_function_and_status():
    manual = (ROOT / "docs/libsluice.3").read_text(encoding="utf-8")
    assert set(re.findall(r"\bsluice_\w+", manual)) >= promised()
    statuses = re.findall(r"X\((SLUICE_\w+), -\d+,", HEADER.read_text(encoding="utf-8"))
    assert [name for name in statuses if f".It Dv {name}\n" not in manual] == []


def test_the_shared_library_exports_what_the_header_promises_and_nothing_else():
    lines = run("nm", "-D", "--defined-only", BUILD / "libsluice.so").splitlines()
    names = {line.split()[-1].partition("@")[0] for line in lines}
    assert names - {"SLUICE_0.1"} == promised()


def test_the_static_library_exports_what_the_header_promises_and_nothing_else():
    lines = run("nm", "-g", "--defined-only", BUILD / "libsluice.a").splitlines()
    assert {line.split()[2] for line in lines if len(line.split()) == 3} == promised()


def test_the_shared_library_is_named_by_its_version():
    soname = f"libsluice.so.{version().partition('.')[0]}"
    assert f"[{soname}]" in run("readelf", "-d", BUILD / "libsluice.so")
    target = (BUILD / f"libsluice.so.{version()}").resolve()
    assert (BUILD / soname).resolve() == target
    assert (BUILD / "libsluice.so").resolve() == target


def test_the_library_calls_nothing_that_prints():
    """But for an assertion that fails, which says where."""
    lines = run("nm", "-D", "--undefined-only", BUILD / "libsluice.so")
    called = {line.split()[-1].partition("@")[0] for line in lines.splitlines()}
    assert not called & {"printf", "puts", "putchar", "perror", "vprintf", "stdout", "exit"}


@pytest.mark.parametrize("compiler, flags", [
    ("cc", ["-std=c17", "-pedantic", "-x", "c"]),
    ("cc", ["-std=c17", "-pedantic", "-x", "c", "-DTWICE"]),
    ("g++", ["-std=c++17", "-pedantic", "-x", "c++"]),
    ("g++", ["-std=c++17", "-pedantic", "-x", "c++", "-DTWICE"]),
])
def test_the_header_compiles_alone(tmp_path, compiler, flags):
    source = tmp_path / "alone"
    source.write_text("#include <sluice.h>\n"
                      "#ifdef TWICE\n#include <sluice.h>\n#endif\n"
                      "int main(void)\n{\n"
                      "    struct sluice_request request = sluice_request();\n"
                      "    request.user = sluice_text(\"u\");\n"
                      "    struct sluice_decision decision;\n"
                      "    return sluice_decide(0, &request, &decision) == SLUICE_INVALID ? 0 : 1;\n"
                      "}\n", encoding="utf-8")
    run(compiler, *flags, "-Wall", "-Wextra", "-Werror",
        f"-I{ROOT / 'include'}", "-o", tmp_path / "program", source, "-x", "none",
        BUILD / "libsluice.so", f"-Wl,-rpath,{BUILD}")
    run(tmp_path / "program")


# ---- installed ----------------------------------------------------------------


def make(*words):
    """Of what is built: other tests are using it, so nothing is made anew."""
    run("make", "-C", ROOT, "-o", "all", f"BUILD={BUILD}", *words)


@pytest.fixture(scope="module", name="tree")
def installed(tmp_path_factory):
    """Where `make install` put everything."""
    tree = tmp_path_factory.mktemp("tree")
    make("install", f"DESTDIR={tree}", "PREFIX=/usr")
    return tree


def pkg_config(tree, *options):
    environment = {**os.environ, "PKG_CONFIG_SYSROOT_DIR": str(tree),
                   "PKG_CONFIG_PATH": str(tree / "usr/lib/pkgconfig"),
                   "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1", "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"}
    return run("pkg-config", *options, "sluice", env=environment).split()


def promised_output(name):
    text = (ROOT / "examples/c/README.md").read_text(encoding="utf-8")
    return re.search(rf"^## {name}\.c$.*?^```\n(.*?)^```$", text, flags=re.S | re.M)[1]


def test_install_puts_everything_in_place(tree):
    wanted = {"bin/sluice", "include/sluice.h", "lib/libsluice.a", "lib/libsluice.so",
              f"lib/libsluice.so.{version()}", "lib/pkgconfig/sluice.pc",
              "share/man/man1/sluice.1", "share/man/man3/libsluice.3",
              "share/doc/sluice/examples/api.yaml", "share/doc/sluice/examples/c/tokens.c"}
    wanted |= {f"share/doc/sluice/packaging/{path.name}" for path in (ROOT / "packaging").iterdir()}
    assert [path for path in sorted(wanted) if not (tree / "usr" / path).exists()] == []
    assert pkg_config(tree, "--modversion") == [version()]


def test_uninstall_takes_all_of_it_away(tmp_path):
    words = (f"DESTDIR={tmp_path}", "PREFIX=/opt/x", "LIBDIR=/opt/x/lib64")
    make("install", *words)
    assert (tmp_path / "opt/x/lib64/libsluice.a").exists()
    assert "libdir=/opt/x/lib64" in (tmp_path / "opt/x/lib64/pkgconfig/sluice.pc").read_text()
    make("uninstall", *words)
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == []


@pytest.mark.parametrize("way", ["shared", "static"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_does_what_its_readme_promises(tree, tmp_path, name, way):
    source = tree / f"usr/share/doc/sluice/examples/c/{name}.c"
    flags = pkg_config(tree, "--cflags", "--libs", *(["--static"] if way == "static" else []))
    environment = {**os.environ}
    if way == "static":
        flags = [f"{tree}/usr/lib/libsluice.a" if flag == "-lsluice" else flag for flag in flags]
    else:
        environment["LD_LIBRARY_PATH"] = str(tree / "usr/lib")
    run("cc", "-D_GNU_SOURCE", "-std=c17", "-Wall", "-Wextra", "-Werror", "-o", tmp_path / name,
        source, *flags, "-pthread")
    needed = run("readelf", "-d", tmp_path / name)
    assert ("libsluice.so.0" in needed) == (way == "shared")
    arguments = [tmp_path / "table.slu"] if name == "forked_workers" else []
    assert run(tmp_path / name, *arguments, env=environment) == promised_output(name)
    assert not (tmp_path / "table.slu").exists()
