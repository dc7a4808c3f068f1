"""Finding the library, and saying what to do where it is not found."""

import os
import subprocess
import sys
from pathlib import Path

import sluice


def importing(**variables):
    """What `import sluice` says in a fresh interpreter."""
    environment = {**os.environ, **variables}
    environment = {name: value for name, value in environment.items() if value is not None}
    code = "import sluice; print(sluice.library_version)"
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True,
                          text=True, check=False)


def built(folder, source):
    path = folder / "libsluice.so.0"
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", path], input=source, text=True,
                   check=True)
    return str(path)


def test_the_variable_names_it():
    done = importing()
    assert (done.returncode, done.stdout) == (0, sluice.library_version + "\n")
    assert sluice.library_version.startswith("0.1.")


def test_without_the_variable_the_loader_finds_it():
    folder = Path(os.environ["SLUICE_LIBRARY"]).resolve().parent
    done = importing(SLUICE_LIBRARY=None, LD_LIBRARY_PATH=str(folder))
    assert (done.returncode, done.stdout) == (0, sluice.library_version + "\n")


def test_not_found_says_what_to_do(tmp_path):
    done = importing(SLUICE_LIBRARY=None, LD_LIBRARY_PATH=str(tmp_path))
    if done.returncode == 0:
        return  # one is installed on this machine
    assert "ImportError: cannot load libsluice.so.0" in done.stderr
    assert "make install" in done.stderr and "SLUICE_LIBRARY" in done.stderr


def test_a_wrong_variable_is_named_and_nothing_else_is_tried():
    folder = Path(os.environ["SLUICE_LIBRARY"]).resolve().parent
    done = importing(SLUICE_LIBRARY="/no/such.so", LD_LIBRARY_PATH=str(folder))
    assert "ImportError: cannot load /no/such.so" in done.stderr
    assert "SLUICE_LIBRARY names it" in done.stderr


def test_another_version_is_refused(tmp_path):
    path = built(tmp_path, 'const char *sluice_version(void) { return "0.2.0"; }')
    done = importing(SLUICE_LIBRARY=path)
    assert "ImportError: libsluice is version 0.2.0" in done.stderr


def test_another_library_is_refused(tmp_path):
    done = importing(SLUICE_LIBRARY=built(tmp_path, "int nothing;"))
    assert "ImportError" in done.stderr and "is no libsluice 0.1" in done.stderr


def test_an_older_library_of_the_version_is_refused_by_name(tmp_path):
    path = built(tmp_path, 'const char *sluice_version(void) { return "0.1.0"; }')
    done = importing(SLUICE_LIBRARY=path)
    assert "ImportError" in done.stderr and "sluice_status_text" in done.stderr
