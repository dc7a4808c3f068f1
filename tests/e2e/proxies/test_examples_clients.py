"""The programs of examples/clients, run as they are against a real server: what they print and how
they end. Those for Node where npm can install what they import.
"""

import itertools
import os
import re
import shutil
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import grpc_messages
from node_packages import PACKAGES, node_folder
from program import ROOT, run
from serving import TIMEOUT_S
from fronts import Ways, guarded

EXAMPLES = ROOT / "examples/clients"
PROGRAMS = sorted(path.name for path in EXAMPLES.glob("check_*"))
LIMIT = 5
names = (f"user-{number}" for number in itertools.count())


def rules(numbers="refill_rate: 0.5"):
    text = (EXAMPLES / "rules.yaml").read_text(encoding="utf-8")
    assert "refill_rate: 0.5" in text
    return re.sub(r"listen:\n(?: .*\n)+", "", text).replace("refill_rate: 0.5", numbers)


@pytest.fixture(name="server", scope="module")
def slow():
    """Nothing comes back while a test runs."""
    with Ways(rules("refill_rate: 0.0001")) as server:
        yield server


@pytest.fixture(name="folder", scope="module")
def copied(tmp_path_factory):
    """examples/clients beside proto, as in the repository; packages of npm above, if there are
    any."""
    root = tmp_path_factory.mktemp("examples")
    (root / "proto").symlink_to(ROOT / "proto")
    shutil.copytree(EXAMPLES, root / "examples/clients")
    return root / "examples/clients"


@pytest.fixture(name="program", params=PROGRAMS)
def one_of_nine(request, folder):
    if request.param.endswith(".mjs"):
        packages = folder.parent / "node_modules"
        if not packages.exists():
            packages.symlink_to(node_folder() / "node_modules")
    return folder / request.param


def places(http, grpc, resp, timeout_s=TIMEOUT_S):
    return {"SLUICE_HTTP": f"http://127.0.0.1:{http}", "SLUICE_GRPC": f"127.0.0.1:{grpc}",
            "SLUICE_RESP": f"redis://127.0.0.1:{resp}", "SLUICE_TIMEOUT_S": str(timeout_s)}


def start(program, where, *words):
    """(exit code, what it printed, what it complained of)"""
    environment = {**os.environ, **where, "PYTHONPATH": grpc_messages.FOLDER}
    interpreter = {".py": ["/usr/bin/python3"], ".mjs": ["node"], ".sh": ["sh"]}[program.suffix]
    done = subprocess.run([*interpreter, program, *words], env=environment, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, timeout=2 * TIMEOUT_S, check=False)
    return done.returncode, done.stdout, done.stderr


def ask(server, program, *words):
    ports = [server.ports[scheme] for scheme in ("http", "grpc", "redis")]
    return start(program, places(*ports), *words)


def test_there_is_one_for_each_protocol_and_language():
    assert PROGRAMS == sorted(f"check_{protocol}.{language}" for protocol in ("http", "grpc", "resp")
                              for language in ("py", "mjs", "sh"))
    assert all(os.access(EXAMPLES / name, os.X_OK) for name in PROGRAMS)


def test_the_rules_have_nothing_to_be_warned_of():
    done = run("lint", EXAMPLES / "rules.yaml")
    assert done.code == 0 and "warning: " not in done.out


def test_packages_that_are_tested_are_those_that_are_asked_for():
    text = (EXAMPLES / "package.json").read_text(encoding="utf-8")
    wanted = dict(re.findall(r'"([@\w/-]+)": "(\^[\d.]+)"', text))
    assert wanted and wanted.items() <= PACKAGES.items()


def test_it_counts_down_and_is_denied(server, program):
    user = next(names)
    said = [ask(server, program, user) for _ in range(2)]
    assert said == [(0, "allowed, 4 of 5 left\n", ""), (0, "allowed, 3 of 5 left\n", "")]
    server.by("http", user=user, cost=3)
    code, out, err = ask(server, program, user)
    assert (code, err) == (1, "")
    assert re.fullmatch(r"denied, again in [1-9]\d* s\n", out)


def test_a_long_name_is_a_name(server, program):
    user = next(names) + "u" * 300
    assert ask(server, program, user) == (0, "allowed, 4 of 5 left\n", "")


def test_a_patient_client_comes_back_in_time(program):
    """A token comes back after half a second, which is told as one."""
    with Ways(rules("refill_rate: 2")) as server:
        user = next(names)
        server.by("http", user=user, cost=LIMIT)
        code, out, err = ask(server, program, user, "20")
        assert (code, err) == (0, "")
        assert re.fullmatch(r"allowed, \d of 5 left\n", out)


def test_a_client_with_too_little_patience_does_not_wait(server, program):
    user = next(names)
    server.by("http", user=user, cost=LIMIT)
    code, out, _ = ask(server, program, user, "3")
    assert code == 1 and out.startswith("denied, again in ")


def test_without_a_server_it_goes_on_and_says_so(program):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        port = nobody.getsockname()[1]
        code, out, err = start(program, places(port, port, port, 5), "u1")
    assert (code, out) == (0, "allowed, unchecked\n")
    assert err != ""


def test_a_server_that_does_not_answer_is_not_waited_for(program):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        code, out, err = start(program, places(port, port, port, 0.2), "u1")
    assert (code, out) == (0, "allowed, unchecked\n")
    assert err != ""


def test_an_answer_that_is_an_error_is_no_decision(program, tmp_path):
    """A caller must name itself, and does not."""
    with guarded(rules(), tmp_path, "shop") as (server, _):
        code, out, err = ask(server, program, "u1")
    assert (code, out) == (0, "allowed, unchecked\n")
    assert err != ""


def test_all_programs_share_one_count(server, folder):
    """At once, of those that need nothing from npm."""
    user = next(names)
    programs = [folder / name for name in PROGRAMS if not name.endswith(".mjs")]
    with ThreadPoolExecutor(2) as threads:
        said = list(threads.map(lambda program: ask(server, program, user)[1], programs))
    assert sorted(said)[:LIMIT] == [f"allowed, {left} of 5 left\n" for left in range(LIMIT)]
    assert sum(line.startswith("denied") for line in said) == len(programs) - LIMIT


def test_the_readme_shows_what_is_printed(server, folder):
    text = Path(EXAMPLES, "README.md").read_text(encoding="utf-8")
    assert "`tests/e2e/proxies/test_examples_clients.py`" in text
    user = next(names)
    for name, line in re.findall(r"^\./(check_\w+\.\w+) u1 +# (allowed, .*)$", text, re.M):
        assert ask(server, folder / name, user)[1] == f"{line}\n"
