#!/usr/bin/python3
"""What Python costs: decisions through this package beside the same in C.

    SLUICE_LIBRARY=build/libsluice.so.0 python3 bindings/python/bench.py

Prints the rows of the README's table: processor time, the best of interleaved rounds,
so that what else the machine does disturbs all of them alike.
"""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import sluice  # noqa: E402  pylint: disable=wrong-import-position
from sluice import _native  # noqa: E402  pylint: disable=wrong-import-position

ROUNDS = 15
NUMBERS = {"algorithm": "token_bucket", "capacity": 10**9, "refill_rate": 10**6}
RULES = """rules:
  - {name: api, per: user, resource: /api/*, algorithm: token_bucket, capacity: 1000000000,
     refill_rate: 1000000}
"""
IN_C = r"""
#include <sluice.h>
#include <stdio.h>
#include <time.h>
int main(int argc, char **argv)
{
    struct sluice_store *store;
    struct sluice_limit *limit;
    struct sluice_decision decision;
    struct sluice_limit_config config = { .name = "bench", .algorithm = "token_bucket",
                                          .capacity = 1000000000, .refill_rate = "1000000" };
    enum { TIMES = 300000 };
    if (sluice_open(argv[argc - 1], &store, NULL) || sluice_limit_new(store, &config, &limit, NULL))
        return 1;
    clock_t start = clock();
    for (int i = 0; i < TIMES; i++)
        sluice_limit_decide(limit, sluice_text("u1"), 1, &decision);
    printf("%.1f\n", (double)(clock() - start) / CLOCKS_PER_SEC / TIMES * 1e9);
    return 0;
}
"""


def built(folder):
    program = Path(folder) / "bench"
    library = Path(_native.lib._name).resolve()
    subprocess.run(["gcc", "-O2", f"-I{HERE.parents[1]}/include", "-x", "c", "-", "-x", "none",
                    library, f"-Wl,-rpath,{library.parent}", "-o", program],
                   input=IN_C, text=True, check=True)
    return program


def spent_ns(call, times, each=1):
    start = time.process_time_ns()
    for _ in range(times):
        call()
    return (time.process_time_ns() - start) / times / each


def main():
    folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=folder) as place:
        url, program = f"memory:{place}/bench.slu?size=64M", built(place)
        store = sluice.open(url)
        limit = store.limit("bench", **NUMBERS)
        limiter = sluice.Limiter.from_text(RULES, store=store)
        request = sluice.Request(user="u1", resource="/api/videos")
        keys = [f"user{number}" for number in range(1000)]
        rows = {
            "`sluice_limit_decide` in C":
                lambda: float(subprocess.check_output([program, url])),
            "`limit.decide_batch`, 1,000 keys":
                lambda: spent_ns(lambda: limit.decide_batch(keys), 20, 1000),
            "`limit.decide`":
                lambda: spent_ns(lambda: limit.decide("u1"), 20_000),
            "`limiter.decide(request)`, a `Request`":
                lambda: spent_ns(lambda: limiter.decide(request), 20_000),
            "`limiter.decide(user=…, resource=…)`":
                lambda: spent_ns(lambda: limiter.decide(user="u1", resource="/api/videos"), 20_000),
        }
        best = {}
        for _ in range(ROUNDS):
            for name, measure in rows.items():
                best[name] = min(measure(), best.get(name, float("inf")))
        store.close()
    first = min(best.values())
    for name, ns in best.items():
        print(f"| {name} | {ns:,.0f} ns | {1e9 / ns:,.0f} | {ns / first:.3g} |")


if __name__ == "__main__":
    main()
