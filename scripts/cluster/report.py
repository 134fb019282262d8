"""The report at the end of a run."""
from judge import longest_gap

MOST_BREACHES = 5  # shown of one promise


def print_report(verdict, record, begin, end, set_back):
    facts = verdict.facts
    print(f"\n{facts['acknowledged']:,} jobs were acknowledged, {facts['delayed']:,} of them delayed.")
    if facts["unanswered"]:
        print(f"{facts['unanswered']:,} puts got no answer, because their node went away; {facts['unanswered_executed']:,} of "
              "them had been executed.")
    print(f"{facts['once']:,} jobs came to one worker, {facts['again']:,} to another one after that.")
    if facts["told_not_found"] or facts["connections_lost"]:
        print(f"{facts['told_not_found']:,} workers were told NOT_FOUND for a job that they had lost; {facts['connections_lost']:,} "
              "lost their connection while they had a job.")
    if facts["refused"]:
        print(f"{facts['refused']:,} commands got INTERNAL_ERROR while the database was away, and were sent again.")
    if facts["earliest"] is not None:
        print(f"No delayed job came sooner than {facts['earliest'] / 1e6:.2f} ms after its due time; the check allows 0.")
    if set_back:
        print(f"The machine's clock was set back by {set_back / 1e6:.1f} ms meanwhile: jobs may only seem to have come early.")
    print_gaps(record, begin, end)
    print()
    for promise, breaches in verdict.checks:
        print(f"  {'BROKEN' if breaches else 'ok    '}  {promise}")
        for breach in breaches[:MOST_BREACHES]:
            print(f"            {breach}")
        if len(breaches) > MOST_BREACHES:
            print(f"            and {len(breaches) - MOST_BREACHES:,} more")
    if any("no fault explains" in breach for _, breaches in verdict.checks for breach in breaches):
        print("\nOn a machine that is too busy, a node may be taken for dead: try a longer --node-timeout.")
    print("\nAll promises held." if verdict.holds() else "\nA promise was BROKEN.", flush=True)


def print_gaps(record, begin, end):
    """How long no job was finished at any node, in each fault and outside of them."""
    times = sorted(record.finished)
    print("\nThe longest time in which no job was finished:")
    quiet = begin
    gaps = []
    for fault in record.faults:
        gaps.append(longest_gap(times, quiet, fault.begin))
        quiet = min(end, (fault.end or end) + 2)
        print(f"  {longest_gap(times, fault.begin, quiet):6.2f} s  at {fault.begin - begin:.0f} s, when {fault.name}")
    gaps.append(longest_gap(times, quiet, end))
    print(f"  {max(gaps):6.2f} s  without a fault")
