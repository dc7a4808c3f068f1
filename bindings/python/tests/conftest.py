"""The package from this folder, on the library beside the program under test."""

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SLUICE = ROOT / os.environ.get("SLUICE", "build/sluice")  # an absolute one stays so
os.environ.setdefault("SLUICE_LIBRARY", str(SLUICE.with_name("libsluice.so.0")))
os.environ["PYTHONPATH"] = str(HERE.parent)
sys.path.insert(0, str(HERE.parent))


@pytest.fixture
def url(tmp_path):
    """A store in a file of its own."""
    return f"memory:{tmp_path}/counts.slu?size=1M"


@pytest.fixture
def store(url):
    import sluice

    with sluice.open(url) as opened:
        yield opened


@pytest.fixture
def program():
    """The command line's path."""
    return str(SLUICE)
