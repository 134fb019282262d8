"""The judge of `scripts/run cluster` finds each breach that it is for, and no other."""
import unittest

from judge import Judge, longest_gap
from kit.program_case import main
from record import Delivery, Fault, Put, Record

TTR = 60


def put(job=1, body=b"a", due=0):
    return Put(body, 0, due, job)


def came(asked, at, ended, outcome="DELETED", job=1, body=b"a", node="web1", wall=10**9):
    return Delivery(job, body, node, asked, at, wall, outcome, ended)


class ClusterJudge(unittest.TestCase):
    def breaches(self, puts, deliveries, faults=(), left=(), closed=()):
        record = Record()
        record.puts, record.deliveries, record.faults, record.closed = puts, deliveries, list(faults), list(closed)
        return [breach for _, breaches in Judge(record, left, TTR).verdict().checks for breach in breaches]

    def expect(self, word, *arguments, **more):
        found = self.breaches(*arguments, **more)
        self.assertTrue(any(word in each for each in found), found)

    def expect_good(self, *arguments, **more):
        self.assertEqual(self.breaches(*arguments, **more), [])

    def test_a_good_record(self):
        self.expect_good([put(), put(2, b"b", due=5), put(None, b"c"), put(None, b"d")],
                         [came(1, 2, 3), came(1, 2, 3, job=2, body=b"b"), came(4, 5, 6, job=9, body=b"c")])

    def test_lost(self):
        self.expect("no worker got it", [put()], [])
        self.expect("1 workers got it", [put()], [came(1, 2, 3, "NOT_FOUND")])
        self.expect("nobody has finished it at the end", [put()], [], left=[1])
        self.expect_good([put()], [came(1, 2, 3, None)])  # the delete may have been executed

    def test_two_workers(self):
        twice = [came(1, 2, 5, "NOT_FOUND"), came(3, 4, 4.5, node="web2")]
        self.expect("no fault explains it", [put()], twice)
        self.expect_good([put()], twice, [Fault("hung", ("web1",), 2.5, 5)])
        self.expect("no fault explains it", [put()], twice, [Fault("hung", ("web2", "web3"), 2.5, 5)])
        self.expect("no fault explains it", [put()], twice, [Fault("hung", ("web1",), 6, 7)])
        self.expect("no fault explains it", [put()], twice, [Fault("hung", ("web1",), 0, 0.5)])
        self.expect_good([put()], twice, [Fault("hung", ("web1",), 0, 0.5, effect=1)])
        self.expect_good([put()], [came(1, 2, 3, None), came(3, 4, 5, node="web2")])
        self.expect_good([put()], [came(1, 2, 1 + TTR, "NOT_FOUND"), came(50, 61, 62)])

    def test_finished_twice(self):
        fault = Fault("the database was away", ("web1", "web2"), 0, 9)
        self.expect("finished 2 times", [put()], [came(1, 2, 3), came(1, 3, 4, node="web2")], [fault])

    def test_finished_and_back(self):
        fault = Fault("the database was away", ("web1", "web2"), 0, 9)
        self.expect("afterwards", [put()], [came(1, 2, 3), came(4, 5, 6, "NOT_FOUND", node="web2")], [fault])
        self.expect("is there at the end", [put()], [came(1, 2, 3)], left=[1])

    def test_early(self):
        self.expect("0.001 ms before", [put(due=10**9 + 1000)], [came(1, 2, 3)])
        self.expect_good([put(due=10**9)], [came(1, 2, 3)])

    def test_invented(self):
        self.expect("which nobody has put", [put()], [came(1, 2, 3), came(1, 2, 3, job=7, body=b"?")])
        self.expect("was put", [put(), put(2, b"b")], [came(1, 2, 3, body=b"b"), came(1, 2, 3, job=2, body=b"b")])
        self.expect("two jobs have the id", [put(), put(1, b"b")], [came(1, 2, 3)])
        self.expect("came of one put", [put(None)], [came(1, 2, 3), came(1, 2, 3, job=2)])

    def test_closed(self):
        self.expect("closed the connection", [], [], closed=[("web1", 1, 2)])
        self.expect_good([], [], [Fault("killed", ("web1",), 1.5, 5)], closed=[("web1", 1, 2)])
        self.expect_good([], [], closed=[("web1", 1, 7)])  # the database did not answer

    def test_gaps(self):
        self.assertEqual(longest_gap([1, 2, 5, 6], 0, 7), 3)
        self.assertEqual(longest_gap([1, 2, 5, 6], 3, 4), 1)
        self.assertEqual(longest_gap([1, 2, 5, 6], 4.5, 20), 14)


if __name__ == "__main__":
    main()
