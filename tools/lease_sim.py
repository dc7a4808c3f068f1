#!/usr/bin/python3
"""A fleet that leases (docs/leases.md), simulated: how much is left for Redis to do, how much
less is let through than an exact limiter would, and what crashes lose.

    tools/lease_sim.py                      1,000 instances, 10 million decisions a second
    tools/lease_sim.py --affinity 4         a key's requests go to few instances
    tools/lease_sim.py --lease off          what it would be without
    tools/lease_sim.py --algorithm token_bucket --limit 0.5

Keys have Zipf popularity. Ranks are taken in groups (1, 2, 3-4, 5-8, ...), of each group one key
of its mean rate is simulated (lease_key.py) and stands for all of them. In the second half some
instances crash; under-admission is that of the first. The same seed gives the same table.

Simplified: a holder knows its demand exactly, and a call takes no time; what it costs Redis is
one of the `--per-master` calls that a master can run in a second.
"""

import argparse
import json
import math
import random
import sys
import time

from lease_key import TERM_S, TINY, Bucket, Key, Window


def groups(keys):
    """(first rank, last rank): 1, 2, 3-4, 5-8, ..."""
    first, last = 1, 1
    while first <= keys:
        yield first, min(last, keys)
        first, last = last + 1, last * 2


def harmonic(first, last, exponent):
    """The sum of rank^-exponent: exact for the first, an integral for the others."""
    exact = min(last, first + 1000)
    total = sum(rank ** -exponent for rank in range(first, exact + 1))
    if exact < last:
        a, b = exact + 0.5, last + 0.5
        total += (math.log(b / a) if exponent == 1
                  else (b ** (1 - exponent) - a ** (1 - exponent)) / (1 - exponent))
    return total


def instances_of(rate, settings):
    """How many instances get the requests of a key: all; or a few, and more only if one alone would
    get a tenth of its traffic from that key."""
    if not settings.affinity:
        return settings.instances
    tenth = settings.decisions / settings.instances / 10
    return min(settings.instances, max(settings.affinity, math.ceil(rate / tenth)))


def simulate(rate, settings):
    seconds, window = settings.seconds // 2, settings.window  # then some crash
    if settings.algorithm == "token_bucket":
        limit = max(1, round(rate * settings.limit))  # a second's refill
        state = Bucket(limit, rate * settings.limit)
    else:
        limit = max(1, round(rate * settings.limit * window))
        state = Window(limit, window)
    key = Key(state, rate, instances_of(rate, settings), settings).run()
    pairs = [(key.asked.get(second, 0), key.admitted.get(second, 0)) for second in range(seconds)]
    if settings.algorithm == "token_bucket":
        spans, most = [pairs], limit + rate * settings.limit * seconds
    else:
        spans, most = [pairs[at:at + window] for at in range(0, seconds, window)], limit
    asked = [sum(pair[0] for pair in span) for span in spans]
    passed = [sum(pair[1] for pair in span) for span in spans]
    if max(passed) > most + TINY:
        sys.exit(f"more passed than the limit: {max(passed)} of {most}; this is a mistake")
    exact = [min(most, units) for units in asked] if key.want else passed
    return {"instances": len(key.holders), "limit": limit, "lease": key.largest,
            "calls": key.calls / (settings.seconds + 2 * TERM_S),
            "peak": max(key.busy.values(), default=0) * 10,
            "short": sum(exact) - sum(passed), "exact": sum(exact), "out": key.out,
            "lost": key.lost, "lost_bound": key.crashing * key.largest}


def simulate_groups(settings):
    ranks = list(groups(settings.keys))
    whole = sum(harmonic(first, last, settings.zipf) for first, last in ranks)
    rows, began = [], time.monotonic()
    for number, (first, last) in enumerate(ranks):
        share = harmonic(first, last, settings.zipf) / whole
        rate = settings.decisions * share / (last - first + 1)
        rows.append({"first": first, "last": last, "rate": rate, **simulate(rate, settings)})
        progress((number + 1) / len(ranks), began)
    return rows


def progress(done, began):
    if not sys.stderr.isatty() or (time.monotonic() - began < 2 and done < 1):
        return
    bar = "#" * round(done * 40)
    end = "" if done < 1 else "\r\033[K"
    print(f"\r[{bar:<40}] {done:4.0%}", end=end, file=sys.stderr, flush=True)


def loads(rows, name, count, settings):
    """Calls a second of each of so many masters: keys are where chance puts them, of the less
    popular ones a thousandth of a group at a time."""
    rng = random.Random(f"{settings.seed}/masters")
    masters = [0.0] * count
    for row in rows:
        keys = row["last"] - row["first"] + 1
        draws = min(keys, 1024)
        for _ in range(draws):
            masters[rng.randrange(count)] += row[name if keys == 1 else "calls"] * keys / draws
    return masters


def masters_needed(rows, total, settings):
    """How many, so that the busiest can run its calls; 0: one key alone is too much."""
    fewest = math.ceil(total / settings.per_master)
    for count in range(fewest, 4 * fewest + 16):
        if max(loads(rows, "calls", count, settings)) <= settings.per_master:
            return count
    return 0


def summary(rows, settings):
    def total(name):
        return sum(row[name] * (row["last"] - row["first"] + 1) for row in rows)
    masters = loads(rows, "calls", settings.masters, settings)
    worst = max(rows, key=lambda row: row["short"] / row["exact"] if row["lease"] else 0)
    hit = max(rows, key=lambda row: row["lost"] / row["limit"])
    return {"calls": total("calls"), "per_decision": total("calls") / settings.decisions,
            "busy_share": sum(row["rate"] * (row["last"] - row["first"] + 1) for row in rows
                              if row["calls"] <= row["rate"] / 50) / settings.decisions,
            "mean_master": sum(masters) / len(masters), "top_master": max(masters),
            "peak_master": max(loads(rows, "peak", settings.masters, settings)),
            "needed": masters_needed(rows, total("calls"), settings),
            "short": total("short") / total("exact"),
            "worst": worst["short"] / worst["exact"] if worst["lease"] else 0.0,
            "worst_rank": worst["first"], "lost": hit["lost"] / hit["limit"],
            "lost_rank": hit["first"], "lost_bound": hit["lost_bound"] / hit["limit"]}


def show(rows, result, settings):
    print(f"{settings.instances:,} instances, {settings.decisions:,.0f} decisions/s, "
          f"{settings.keys:,} keys (Zipf {settings.zipf:g}), {settings.algorithm}, limit "
          f"{settings.limit:g} x demand, lease {settings.lease}, seed {settings.seed}\n")
    print(f"{'ranks':>17} {'each/s':>9} {'on':>5} {'lease':>6} {'calls/s':>10} {'decisions':>9} "
          f"{'under-':>8} {'out':>7} {'lost in':>8}")
    print(f"{'':>17} {'':>9} {'':>5} {'':>6} {'of a key':>10} {'per call':>9} {'admitted':>8} "
          f"{'/limit':>7} {'crashes':>8}")
    for row in rows:
        ranks = f"{row['first']}-{row['last']}" if row["last"] > row["first"] else row["first"]
        print(f"{ranks:>17} {row['rate']:>9,.1f} {row['instances']:>5} {row['lease']:>6} "
              f"{row['calls']:>10,.1f} {row['rate'] / row['calls']:>9,.1f} "
              f"{row['short'] / row['exact']:>8.2%} {row['out'] / row['limit']:>7.1%} "
              f"{row['lost'] / row['limit']:>8.2%}")
    print(f"\nRedis: {result['calls']:,.0f} calls/s, one for {1 / result['per_decision']:,.1f} "
          f"decisions; {result['busy_share']:.0%} of decisions are on keys with one for 50 or more")
    print(f"{settings.masters} masters: {result['mean_master']:,.0f} calls/s each, "
          f"{result['top_master']:,.0f} the busiest ({result['peak_master']:,.0f} in its busiest "
          f"0.1 s); at {settings.per_master:,} a second each, "
          f"{result['needed'] or 'no number'} would do")
    if not any(row["lease"] for row in rows):
        print("no key leases")
        return
    print(f"under-admission: {result['short']:.3%} of what an exact limiter lets pass; worst "
          f"leased key (rank {result['worst_rank']}) {result['worst']:.2%}")
    print(f"{settings.crash:.0%} of instances crash at once: rank {result['lost_rank']} loses "
          f"{result['lost']:.2%} of its limit (bound {result['lost_bound']:.2%}), once")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--instances", type=int, default=1000)
    parser.add_argument("--decisions", type=float, default=10e6, help="a second, of all of them")
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--zipf", type=float, default=1.0, help="popularity of rank k: k^-ZIPF")
    parser.add_argument("--algorithm", choices=["fixed_window", "token_bucket"],
                        default="fixed_window")
    parser.add_argument("--window", type=int, default=10, help="seconds")
    parser.add_argument("--limit", type=float, default=0.9, help="of a key's mean demand")
    parser.add_argument("--lease", default="auto", help="auto, off, or how many at once")
    parser.add_argument("--affinity", type=int, default=0,
                        help="instances that a key's requests go to at the least; 0: all")
    parser.add_argument("--masters", type=int, default=16)
    parser.add_argument("--per-master", type=int, default=60_000, help="calls a second")
    parser.add_argument("--crash", type=float, default=0.1, help="share of instances")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    settings = parser.parse_args()
    if min(settings.instances, settings.keys, settings.masters, settings.per_master,
           settings.window, settings.seconds, settings.decisions, settings.limit) <= 0:
        parser.error("numbers are above 0")
    if not 0 <= settings.crash <= 1:
        parser.error("--crash is a share: 0 to 1")
    if settings.lease not in ("auto", "off") and not settings.lease.isdigit():
        parser.error("--lease is auto, off or a number")
    if settings.seconds % (2 * settings.window):
        parser.error("--seconds is a multiple of two windows: in the second half some crash")
    return settings


def main():
    settings = arguments()
    rows = simulate_groups(settings)
    result = summary(rows, settings)
    if settings.json:
        print(json.dumps({"keys": rows, "fleet": result}))
    else:
        show(rows, result, settings)


if __name__ == "__main__":
    main()
