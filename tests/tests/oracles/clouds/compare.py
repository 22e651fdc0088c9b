"""Tells the same calls to the local cloud and to two other imitations of AWS, and compares.

Argument: the local cloud's address. Fails at a disagreement that is not in `known.py`, and at an
entry there that is not seen any more.
"""

import faulthandler
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import equip
import known
import places
import queues
import rows
import schedules
from tell import tell

# One seed, so that a run can be repeated; others can be asked for.
SEED = os.environ.get("PAIDONCE_SEED", "1")
MORE = float(os.environ.get("PAIDONCE_CASES", "1"))
CASES = {rows: 40, queues: 16, schedules: 24}
# After this it has hung; where is then told.
SECONDS_MAX = 600
SHOWN_MAX = int(os.environ.get("PAIDONCE_SHOWN", "20"))


def answers(place, cases):
    return [[tell(place, step) for step in case["steps"]] for case in cases]


def main():
    faulthandler.dump_traceback_later(SECONDS_MAX, exit=True)
    template = json.loads(Path(__file__).with_name("template.json").read_text())
    cases = [case for kind, count in CASES.items() for case in kind.cases(SEED, int(count * MORE))]
    with places.moto() as moto, places.ministack() as ministack:
        ours, others = places.ours(sys.argv[1]), [moto, ministack]
        equip.find(ours, template)
        for other in others:
            equip.equip(other, template)
        with ThreadPoolExecutor(3) as pool:
            told = list(pool.map(lambda place: answers(place, cases), [ours, *others]))
    report = known.Report()
    for other, theirs in zip(others, told[1:], strict=True):
        for case, *both in zip(cases, told[0], theirs, strict=True):
            report.compare(other.name, case, *both)
    print(*report.unknown[:SHOWN_MAX], sep="\n")
    for entry, times in report.seen.items():
        print(f"{times} times: {entry.who}: {entry.what}")
    for entry in report.unseen():
        print(f"not seen any more: {entry.who}: {entry.what}")
    compared = ", ".join(f"{count} with {name}" for name, count in sorted(report.compared.items()))
    print(f"{sum(len(case['steps']) for case in cases)} calls, compared {compared}")
    print(f"{len(report.unknown)} unknown disagreements, {len(report.unseen())} entries not seen")
    return 1 if report.unknown or report.unseen() else 0


sys.exit(main())
