"""Packages that npm installs for a run of the tests, in a folder of their own.

    node_folder()                                    # skips the test where there are none
    said = node_json(HERE / "script.mjs", "argument")

They are not in Debian. Where npm is missing, or finds no registry, the tests that need them are
skipped and say so. Scripts are copied into the folder, or below it: from there Node finds the
packages.
"""

import functools
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

PACKAGES = {"redis": "^6.0.0", "ioredis": "^6.0.0", "@grpc/grpc-js": "^1.14.0",
            "@grpc/proto-loader": "^0.8.0"}
INSTALL_S, RUN_S = 120, 60


@functools.lru_cache(maxsize=None)
def install():
    """(folder, None), or (None, why there is none). The folder goes with the process."""
    for tool in ("node", "npm"):
        if not shutil.which(tool):
            return None, f"{tool} is not here"
    folder = tempfile.TemporaryDirectory(prefix="sluice-node-")
    Path(folder.name, "package.json").write_text(
        json.dumps({"private": True, "dependencies": PACKAGES}), encoding="utf-8")
    command = ["npm", "install", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund",
               "--no-package-lock", "--loglevel=error"]
    try:
        done = subprocess.run(command, cwd=folder.name, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=INSTALL_S, check=False)
    except subprocess.TimeoutExpired:
        return None, f"npm did not install {', '.join(PACKAGES)} within {INSTALL_S} s"
    if done.returncode != 0:
        said = (done.stderr.strip() or "no reason given").splitlines()[0]
        return None, f"npm could not install {', '.join(PACKAGES)}: {said}"
    return folder, None


def node_folder():
    folder, why_not = install()
    if why_not:
        pytest.skip(why_not)
    return Path(folder.name)


def run_node(script, *words, **environment):
    """Its exit code and what it printed."""
    return subprocess.run(["node", script, *map(str, words)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=RUN_S, check=False,
                          env={**os.environ, **environment})


def node_json(source, *words):
    """What a script of the tests prints as JSON, run among the packages."""
    copy = Path(shutil.copy(source, node_folder()))
    done = run_node(copy, *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
