# shellcheck shell=bash
# The counts of a test run.

# read_results JUNIT SHARDS: prints `PASSED FAILED SKIPPED`, then a line `failed: NAME` or
# `skipped: NAME (REASON)` for each such test. The output of failed tests goes to stderr.
#
# ctest writes "notrun" both for a test that skipped itself and for a test that could not start (its
# program is missing, or the test of its fixture failed). ctest counts the second kind as failed, and
# so does this function.
#
# A test of ctest may be a shard: a process that runs many cases of a GoogleTest program, with their
# results in the directory SHARDS (tests/CMakeLists.txt). Its cases count, not the shard. A shard that
# ended, or was ended, before it could write its results counts as failed, with the case that it ran last. A
# shard whose cases passed and whose process failed counts as failed too: LeakSanitizer reports at the end.
read_results() {
    python3 - "$1" "$2" <<'PYTHON'
import re
import sys
from pathlib import Path
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

def shard_results(case):
    """The name, outcome, reason and output of each case of a shard, or of the shard if it failed by itself."""
    name, output = case.get("name"), case.findtext("system-out") or ""
    prefix = name.rpartition("/")[0]
    file = Path(sys.argv[2], name.replace("/", ".") + ".xml")
    last = re.findall(r"^\[ RUN      \] (.*)", output, re.M)
    if not file.exists():
        yield name, "failed", f"its last case was {last[-1]}" if last else "it ran no case", output
        return
    try:  # a failure's message may hold bytes that are not UTF-8
        cases = xml.fromstring(file.read_text(encoding="utf-8", errors="replace")).iter("testcase")
    except xml.ParseError as error:
        yield name, "failed", f"its results cannot be read: {error}", output
        return
    failures = 0
    for each in cases:
        messages = [failure.get("message", "") for failure in each.iter("failure")]
        skips = [skip.get("message", "").strip().splitlines() for skip in each.iter("skipped")]
        kind = "failed" if messages else "skipped" if skips else "passed"
        failures += kind == "failed"
        if each.get("status") == "run":
            yield (f"{prefix}/{each.get('classname')}.{each.get('name')}", kind,
                   (skips[0][1:2] or ["no reason given"])[0] if skips else "", "\n".join(messages))
    if outcome(case)[0] == "failed" and failures == 0:
        yield name, "failed", "its cases passed, but the process failed", output

def results(case):
    if re.search(r"/shard_\d+$", case.get("name")):
        yield from shard_results(case)
    else:
        yield case.get("name"), *outcome(case), case.findtext("system-out") or ""

counts = {"passed": 0, "failed": 0, "skipped": 0}
notes = []
for test in xml.parse(sys.argv[1]).getroot().iter("testcase"):
    for name, kind, reason, output in results(test):
        counts[kind] += 1
        if kind == "failed":
            print(f"--- failed: {name}", *output.rstrip().splitlines()[-MOST_LINES:], sep="\n", file=sys.stderr)
        if kind != "passed":
            notes.append(f"{kind}: {name}" + (f" ({reason})" if reason else ""))
print(*counts.values())
print("\n".join(notes))
PYTHON
}
