# shellcheck shell=bash
# The counts of a test run.

# read_results JUNIT: prints `PASSED FAILED SKIPPED`, then a line `failed: NAME` or
# `skipped: NAME (REASON)` for each such test. The output of failed tests goes to stderr.
#
# ctest writes "notrun" both for a test that skipped itself and for a test that could not start (its
# program is missing, or the test of its fixture failed). ctest counts the second kind as failed, and
# so does this function.
read_results() {
    python3 - "$1" <<'PYTHON'
import re
import sys
import xml.etree.ElementTree as xml

MOST_LINES = 200  # of one test's output; the log has all of it

def outcome(case):
    reason = next((skip.get("message", "") for skip in case.iter("skipped")), "")
    match case.get("status"):
        case "run":
            return "passed", ""
        case "disabled":
            return "skipped", "disabled"
        case "notrun" if reason.startswith("SKIP_"):
            return "skipped", skip_reason(case)
        case "notrun":
            return "failed", reason
    return "failed", ""

def skip_reason(case):
    """The reason that a GoogleTest case printed when it skipped itself."""
    reason = re.search(r": Skipped\n(\S.*)", case.findtext("system-out") or "")
    return reason[1] if reason else "no reason given"

def show_output(name, case):
    lines = (case.findtext("system-out") or "").rstrip().splitlines()
    print(f"--- failed: {name}", *lines[-MOST_LINES:], sep="\n", file=sys.stderr)

counts = {"passed": 0, "failed": 0, "skipped": 0}
notes = []
for case in xml.parse(sys.argv[1]).getroot().iter("testcase"):
    kind, reason = outcome(case)
    name = case.get("name")
    counts[kind] += 1
    if kind == "failed":
        show_output(name, case)
    if kind != "passed":
        notes.append(f"{kind}: {name}" + (f" ({reason})" if reason else ""))
print(*counts.values())
print("\n".join(notes))
PYTHON
}
