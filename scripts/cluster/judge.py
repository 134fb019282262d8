"""Whether the promises of foliot hold in a record. It knows only what clients saw, and which jobs are left at the end.

A worker may get a job that another one had, and be told NOT_FOUND for its own, only where a fault explains it: the
connection ended, the node was killed or stopped, the database was away, or the job's time to run was over.

Due times are instants of the wall clock, which clients and database servers of one machine share. The database hands a
job out after it has read a time not before the due time, and the worker reads its clock later. So no tolerance is
needed for jobs that come early, unless the clock was set back meanwhile.
"""
import bisect
import dataclasses

# Seconds. A node closes a connection, too, if the database has not said for so long whether a commit has happened, as on a
# machine whose disk is very busy.
NODE_PATIENCE = 5.0


@dataclasses.dataclass
class Verdict:
    checks: list  # (what is promised, the breaches as sentences)
    facts: dict

    def holds(self):
        return not any(breaches for _, breaches in self.checks)


class Judge:
    def __init__(self, record, left, ttr):
        """`left`: the ids of the jobs that are there at the end. `ttr`: each job's time to run, in seconds."""
        self.record, self.left, self.ttr = record, set(left), ttr
        self.acknowledged = [put for put in record.puts if put.job is not None]
        self.by_body = {put.body: put for put in record.puts}
        self.of_job = {}
        for delivery in record.deliveries:
            self.of_job.setdefault(delivery.job, []).append(delivery)

    def verdict(self):
        checks = [("nothing that was acknowledged is lost", self.lost()),
                  ("each job was finished once, and came to a second worker only after a fault", self.again()),
                  ("no finished job came back", self.back()),
                  ("nothing came before its due time", self.early()),
                  ("each job has the body and the id that it was put with", self.invented()),
                  ("no node closed a connection without a fault", self.closed())]
        return Verdict([(promise, list(breaches)) for promise, breaches in checks], self.facts())

    def is_explained(self, node, begin, end):
        return any(fault.touches(node, begin, end) for fault in self.record.faults)

    def may_lose(self, delivery):
        """Whether the worker may have lost the job before its delete was executed."""
        return (delivery.outcome is None or delivery.ended - delivery.asked >= self.ttr
                or self.is_explained(delivery.node, delivery.asked, delivery.ended))

    def lost(self):
        for put in self.acknowledged:
            deliveries = self.of_job.get(put.job, [])
            if put.job in self.left:
                yield f"job {put.job} was acknowledged, and nobody has finished it at the end"
            elif not any(delivery.outcome in ("DELETED", None) for delivery in deliveries):
                got = f"{len(deliveries)} workers got it" if deliveries else "no worker got it"
                yield f"job {put.job} was acknowledged, {got}, nobody has finished it, and it is not there at the end"

    def again(self):
        for job, deliveries in self.of_job.items():
            finished = [delivery for delivery in deliveries if delivery.outcome == "DELETED"]
            if len(finished) > 1:
                yield f"job {job} was finished {len(finished)} times, by workers of {names(finished)}"
            certain = [delivery for delivery in deliveries if not self.may_lose(delivery)]
            if len(certain) > 1:
                yield f"job {job} came to {len(certain)} workers, of {names(certain)}, and no fault explains it"
            for delivery in certain:
                if delivery.outcome != "DELETED":
                    yield (f"a worker of {delivery.node} had job {job}, and its delete got {delivery.outcome}: "
                           "no fault explains it")

    def back(self):
        for job, deliveries in self.of_job.items():
            ends = [delivery.ended for delivery in deliveries if delivery.outcome == "DELETED"]
            for delivery in deliveries:
                if ends and delivery.asked > min(ends):
                    yield f"job {job} was finished, and came to a worker of {delivery.node} afterwards"
            if ends and job in self.left:
                yield f"job {job} was finished, and is there at the end"

    def early(self):
        for delivery in self.record.deliveries:
            put = self.by_body.get(delivery.body)
            if put and delivery.came_wall < put.due_wall:
                early = (put.due_wall - delivery.came_wall) / 1e6
                yield f"job {delivery.job} came to a worker of {delivery.node} {early:.3f} ms before its due time"

    def invented(self):
        jobs = {}
        for put in self.acknowledged:
            if put.job in jobs:
                yield f"two jobs have the id {put.job}"
            jobs[put.job] = put.body
        of_body = {put.body: put.job for put in self.acknowledged}
        for delivery in self.record.deliveries:
            put = self.by_body.get(delivery.body)
            if put is None:
                yield f"job {delivery.job} has the body {delivery.body!r}, which nobody has put"
            elif jobs.get(delivery.job, delivery.body) != delivery.body:
                yield f"job {delivery.job} has the body {delivery.body!r}, but {jobs[delivery.job]!r} was put"
            elif of_body.setdefault(delivery.body, delivery.job) != delivery.job:
                yield f"the jobs {of_body[delivery.body]} and {delivery.job} came of one put"

    def closed(self):
        for node, begin, end in self.record.closed:
            if not self.is_explained(node, begin, end) and end - begin < NODE_PATIENCE:
                yield f"{node} closed the connection of a client, and no fault explains it"

    def facts(self):
        deliveries = self.record.deliveries
        due = {put.body: put.due_wall for put in self.record.puts if put.due_wall}
        lateness = [delivery.came_wall - due[delivery.body] for delivery in deliveries if delivery.body in due]
        unanswered = [put for put in self.record.puts if put.job is None]
        bodies = {delivery.body for delivery in deliveries}
        return {"acknowledged": len(self.acknowledged),
                "delayed": sum(put.due_wall != 0 for put in self.acknowledged),
                "unanswered": len(unanswered),
                "unanswered_executed": sum(put.body in bodies for put in unanswered),
                "once": sum(len(each) == 1 for each in self.of_job.values()),
                "again": sum(len(each) > 1 for each in self.of_job.values()),
                "told_not_found": sum(delivery.outcome == "NOT_FOUND" for delivery in deliveries),
                "connections_lost": sum(delivery.outcome is None for delivery in deliveries),
                "refused": self.record.refused,
                "earliest": min(lateness, default=None)}


def names(deliveries):
    return ", ".join(delivery.node for delivery in deliveries)


def longest_gap(times, begin, end):
    """The longest part of the time from `begin` to `end` in which there is none of the `times`, which ascend."""
    first, last = bisect.bisect_left(times, begin), bisect.bisect_right(times, end)
    inside = [begin, *times[first:last], end]
    return max(later - earlier for earlier, later in zip(inside, inside[1:]))
