"""Records what torch gives where it is wrong: python tests/record/compat_values.py, with torch installed.

Of the programs in tests/compat_cases.py, what they print; of the corpus' reports that torch does not meet, the outcome,
None where torch crashes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "corpus")]
import compare  # noqa: E402
import runner  # noqa: E402
from compat_cases import PRELUDE, PROGRAMS  # noqa: E402

if __name__ == "__main__":
    worker = runner.Worker(reference=True)
    programs = {}
    for name, (program, _) in PROGRAMS.items():
        outcome = worker.run(PRELUDE + program)
        if outcome.get("error"):
            sys.exit(f"{name}: {outcome['error']}")
        programs[name] = outcome["stdout"]
    reports = {}
    for case in runner.load_cases():
        if case["group"] in ("report_right", "report_wording"):
            outcome = worker.run(case["source"])
            reports[case["id"]] = None if outcome.get("failure") else outcome
            if compare.difference(case, outcome) is None and case["stdout"] == outcome["stdout"]:
                del reports[case["id"]]
    worker.stop()
    text = json.dumps({"programs": programs, "reports": reports}, indent=1)
    (TESTS / "data" / "compat.json").write_text(text + "\n", "utf-8")
