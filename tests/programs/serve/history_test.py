"""The checker of histories finds each breach that it is for, and no other."""
import unittest

from history import Event, check, events_around, priorities_of
from kit.program_case import main


def event(kind, begin, end, answer, client=1, job=1, **more):
    return Event(client, kind, begin, 1000 + begin, end, None if end is None else 1000 + end, answer, job, **more)


def put(begin, end, job=1, **more):
    return event("put", begin, end, "INSERTED", job=job, **({"body": b"a", "ttr": 10} | more))


def reserved(begin, end, client=2, job=1, body=b"a", **more):
    return event("reserve", begin, end, "RESERVED", client=client, job=job, body=body, **more)


def fault(kind, begin, **more):
    return event(kind, begin, begin, None, client=0, job=None, **more)


ONE, OTHER = ("127.0.0.1", 1), ("127.0.0.1", 2)  # nodes


class Checker(unittest.TestCase):
    def expect(self, word, events, left, **more):
        found = check(events, left, **more)
        self.assertTrue(any(word in each for each in found), found)

    def test_a_good_history(self):
        events = [put(0, 1), put(0, 1, job=2, body=b"b"), reserved(1, 2), event("delete", 3, 4, "DELETED", client=2),
                  put(5, 6, job=3, body=b"c", delay=2), reserved(7, 8, job=3, body=b"c"), event("gone", 9, 9, None, client=2),
                  reserved(9.5, 10, client=3, job=3, body=b"c"), event("killed", 11, 11, None),
                  reserved(12, 13, job=3, body=b"c"), event("delete", 14, None, None, client=2, job=3)]
        self.assertEqual(check(events, {2: b"b"}), [])
        self.assertEqual(check(events, {2: b"b", 3: b"c"}), [], "the last answer never came: both may be true")

    def test_acknowledged_and_lost(self):
        self.expect("not there at the end", [put(0, 1)], {})

    def test_a_put_without_an_answer_may_be_there_or_not(self):
        lost = event("put", 0, None, None, job=None, body=b"a")
        self.assertEqual(check([lost], {}), [])
        self.assertEqual(check([lost], {7: b"a"}), [])

    def test_invented(self):
        self.expect("was put", [put(0, 1)], {1: b"other"})
        self.expect("was put", [], {5: b"other"})

    def test_put_twice(self):
        def with_key(answer, job, key="k"):
            return event("put", 0, 1 if answer else None, answer, job=job, body=b"a", ttr=10, idempotency_key=key)
        for once in with_key("INSERTED", 1), with_key(None, None):
            self.expect("a second time", [once, reserved(1, 2), reserved(20, 21, job=2)], {})
            self.expect("a second time", [once, reserved(1, 2)], {2: b"a"})
            self.assertEqual(check([once, reserved(1, 2)], {1: b"a"}), [])
        self.assertEqual(check([with_key(None, None, key=None), reserved(1, 2)], {2: b"a"}), [], "sent as often as it likes")

    def test_one_id_for_two(self):
        self.expect("two jobs", [put(0, 1), put(2, 3)], {1: b"a"})

    def test_finished_and_back(self):
        done = [put(0, 1), reserved(1, 2), event("delete", 3, 4, "DELETED", client=2)]
        self.expect("handed out again", [*done, reserved(5, 6)], {})
        self.expect("handed out again", [put(0, 1), event("cancel", 2, 3, "CANCELLED"), reserved(5, 6)], {})
        self.expect("there at the end", done, {1: b"a"})

    def test_early(self):
        self.expect("early", [put(0, 1, delay=5), reserved(2, 4.9)], {1: b"a"})
        self.assertEqual(check([put(0, 1, delay=5), reserved(2, 5.1)], {1: b"a"}), [])
        moved = [put(0, 1), event("reschedule", 2, 3, "RESCHEDULED", delay=5)]
        self.expect("early", [*moved, reserved(4, 6.9)], {1: b"a"})
        self.assertEqual(check([*moved, reserved(2.5, 4)], {1: b"a"}), [], "it may have been handed out before")
        fired = event("fire", 4, 5, "FIRED")
        self.assertEqual(check([*moved, fired, reserved(5.5, 6)], {1: b"a"}), [])
        unknown = event("fire", 4, None, None)
        self.assertEqual(check([*moved, unknown, reserved(5.5, 6)], {1: b"a"}), [])

    def test_held_by_two(self):
        self.expect("same time", [put(0, 1), reserved(1, 2), reserved(3, 4, client=3)], {1: b"a"})
        self.assertEqual(check([put(0, 1), reserved(1, 2), reserved(1.5, 3, client=3)], {1: b"a"}), [],
                         "the first may have lost it before its answer came")
        self.assertEqual(check([put(0, 1, ttr=1), reserved(1, 1.5), reserved(1.6, 3, client=3)], {1: b"a"}), [],
                         "its time may have been over")

    def test_a_token_holds_what_its_client_has_reserved(self):
        def by_token(token, *others):
            return [put(0, 1, ttr=60), reserved(1, 2, token=token), event("gone", 3, 3, None, client=2), *others]
        again = reserved(4, 5, client=3)
        self.assertEqual(check(by_token(None, again), {1: b"a"}), [], "over beanstalk its client gives it back")
        self.expect("same time", by_token("1-1-1", again), {1: b"a"})
        refused = event("release", 4, 5, "NOT_FOUND", client=3, token="1-1-1")
        self.expect("refused to its holder", by_token("1-1-1", refused), {1: b"a"})
        released = event("release", 4, 5, "RELEASED", client=3, token="1-1-1")
        self.assertEqual(check(by_token("1-1-1", released, reserved(6, 7, client=4)), {1: b"a"}), [])
        killed = event("killed", 3.5, 3.5, None)
        self.assertEqual(check(by_token("1-1-1", killed, again), {1: b"a"}), [])

    def test_a_token_outlives_its_node(self):
        for faults in [[fault("disturbed", 3, node=ONE)], [fault("silent", 2.5, node=ONE, timeout=1)]]:
            for token in [None, "1-1-1"]:
                mine = [put(0, 1, ttr=60), reserved(1, 2, node=ONE, token=token), *faults]
                given = [*mine, reserved(7, 8, client=3, node=OTHER)]
                refused = [*mine, event("touch", 7, 8, "NOT_FOUND", client=2, token=token)]
                if token:
                    self.expect("same time", given, {1: b"a"})
                    self.expect("refused to its holder", refused, {1: b"a"})
                else:
                    self.assertEqual(check(given, {1: b"a"}) + check(refused, {1: b"a"}), [], "over beanstalk it ends")

    def test_a_token_that_is_given_twice(self):
        times = [put(0, 1, ttr=1), reserved(1, 2, token="1-1-1"), reserved(5, 6, client=3, token="1-1-1")]
        self.expect("same token", times, {1: b"a"})
        times[2].token = "1-1-2"
        self.assertEqual(check(times, {1: b"a"}), [])

    def test_a_token_that_has_ended_does_nothing(self):
        def asked(kind, begin, answer=None, token="1-1-1", client=3):
            answer = answer or {"touch": "TOUCHED", "delete": "DELETED", "release": "RELEASED", "bury": "BURIED"}[kind]
            return event(kind, begin, begin + 0.5, answer, client=client, token=token)

        def stale(*after, **more):
            found = check([put(0, 1, ttr=3), reserved(1, 2, token="1-1-1"), *after], {1: b"a"}, **more)
            return any("with the token of" in each for each in found)

        unanswered = event("touch", 3, None, None, client=3, token="1-1-1")
        again = reserved(5.2, 5.4, client=4, token="1-1-2")
        for kind in ["touch", "delete", "release", "bury"]:
            self.assertTrue(stale(asked(kind, 5.1)), "its TTR is over")
            self.assertFalse(stale(asked(kind, 4.9)), "it may just last")
            self.assertFalse(stale(asked(kind, 5.1), grace=0.2), "its node may have hung")
            self.assertFalse(stale(asked(kind, 5.1, "NOT_FOUND")))
            self.assertFalse(stale(asked(kind, 5.1, "INTERNAL_ERROR")))
            self.assertFalse(stale(asked(kind, 5.1, token=None, client=2)), "without a token another rule judges")
            self.assertFalse(stale(asked("touch", 3), asked(kind, 6.4)), "it was touched")
            self.assertTrue(stale(asked("touch", 3), asked(kind, 6.6)), "until then")
            self.assertFalse(stale(unanswered, asked(kind, 60)), "it may have been touched, at any time")
            self.assertTrue(stale(asked("touch", 3, "NOT_FOUND"), asked(kind, 5.1)), "it was not touched")
            self.assertFalse(stale(asked(kind, 3)))
            for end in ["delete", "release", "bury"]:
                self.assertTrue(stale(asked(end, 2.5), asked(kind, 3.1)), "an answer has ended it")
                self.assertFalse(stale(asked(end, 2.5), asked(kind, 2.9)), "that one may have been the first")
                self.assertFalse(stale(asked(end, 2.5, "NOT_FOUND"), asked(kind, 3.1)))
            handed = [asked("touch", 4), asked("touch", 5), again]  # it would last until 8.5
            self.assertTrue(stale(*handed, asked(kind, 5.5)), "somebody else has got the job")
            self.assertFalse(stale(*handed, asked(kind, 5.3)), "or has got it later")
            self.assertFalse(stale(*handed, asked(kind, 5.5, token="1-1-2")), "the new one is valid")
            self.assertTrue(stale(fault("killed", 2.2), asked(kind, 2.5)), "the server has ended")
            self.assertFalse(stale(fault("disturbed", 2.2), asked(kind, 2.5)), "it outlives its node")

    def test_a_touch_prolongs(self):
        def touched(answer, *others):
            return [put(0, 1, ttr=3), reserved(1, 2), event("touch", 3, 3.5, answer, client=2), *others]

        again = reserved(5, 5.5, client=3)
        self.expect("same time", touched("TOUCHED", again), {1: b"a"})
        for answer in ["NOT_FOUND", "INTERNAL_ERROR", None]:
            found = check(touched(answer, again), {1: b"a"})
            self.assertEqual([each for each in found if "same time" in each], [])
        self.expect("refused to its holder", touched("NOT_FOUND"), {1: b"a"})
        late = [put(0, 1, ttr=2), reserved(1, 2), event("touch", 3, 3.5, "NOT_FOUND", client=2)]
        self.assertEqual(check(late, {1: b"a"}), [], "its time may have been over")
        cancel = event("cancel", 6, 6.4, "IS_RESERVED", client=3)
        self.assertEqual(check(touched("TOUCHED", cancel), {1: b"a"}), [])
        self.expect("nobody had it", touched("NOT_FOUND", cancel), {1: b"a"})
        killed = [*touched("TOUCHED"), fault("killed", 4), again]
        self.assertEqual(check(killed, {1: b"a"}), [], "touching does not help against this")

    def test_an_unknown_answer(self):
        self.expect("unknown", [put(0, 1), event("fire", 2, 3, "404 {}")], {1: b"a"})

    def test_a_reserve_that_is_in_doubt_may_have_the_job(self):
        cancel = event("cancel", 3, 4, "IS_RESERVED", client=3)
        doubt = event("reserve", 1, 2, "IN_DOUBT", client=2, job=None)
        self.assertEqual(check([put(0, 1), doubt, cancel], {1: b"a"}), [])
        late = event("cancel", 20, 21, "IS_RESERVED", client=3)
        self.expect("nobody had it", [put(0, 1), doubt, late], {1: b"a"})

    def test_held_by_two_though_something_else_failed(self):
        def twice(*faults):
            return [put(0, 1), reserved(1, 2, node=ONE), *faults, reserved(7, 8, client=3, node=OTHER)]

        for faults in [[fault("disturbed", 3)],  # the database
                       [fault("disturbed", 3, node=OTHER)], [fault("silent", 3, node=OTHER, timeout=1)],
                       [fault("disturbed", 0, node=ONE)],
                       [fault("silent", 3, node=ONE, timeout=6), fault("heard", 5.9, node=ONE)],
                       [fault("silent", 2.5, node=ONE, timeout=4), fault("heard", 3.5, node=ONE),
                        fault("silent", 4.6, node=ONE, timeout=4), fault("heard", 6, node=ONE)],
                       [fault("silent", 3, node=ONE, timeout=12)]]:
            self.expect("same time", twice(*faults), {1: b"a"})
        for faults in [[fault("killed", 3)], [fault("disturbed", 3, node=ONE)], [event("gone", 3, 3, None, client=2)],
                       [fault("silent", 3, node=ONE, timeout=6), fault("heard", 6.1, node=ONE)],
                       [fault("silent", 0.5, node=ONE, timeout=2), fault("heard", 1.6, node=ONE)],
                       [fault("silent", 2.5, node=ONE, timeout=4), fault("heard", 3.5, node=ONE),
                        fault("silent", 4.4, node=ONE, timeout=4), fault("heard", 6, node=ONE)],
                       [fault("silent", 3, node=ONE, timeout=6)]]:
            self.assertEqual(check(twice(*faults), {1: b"a"}), [], faults)

    def test_held_by_two_after_a_request_that_has_changed_nothing(self):
        for kind in ["delete", "release", "bury"]:
            asked = [put(0, 1), reserved(1, 2), event(kind, 3, 4, "INTERNAL_ERROR", client=2), reserved(5, 6, client=3)]
            self.expect("same time", asked, {1: b"a"})

    def test_refused_to_its_holder(self):
        def refused(*faults, end=4, kind="delete", ttr=10):
            return [put(0, 1, ttr=ttr), reserved(1, 2, node=ONE), *faults, event(kind, 3, end, "NOT_FOUND", client=2)]

        for kind in ["delete", "release", "bury"]:
            self.expect("refused to its holder", refused(kind=kind), {1: b"a"})
        for faults in [[fault("disturbed", 2.5)], [fault("disturbed", 2.5, node=OTHER)],
                       [fault("silent", 2.5, node=ONE, timeout=2), fault("heard", 3.4, node=ONE)]]:
            self.expect("refused to its holder", refused(*faults), {1: b"a"})
        for faults in [[fault("disturbed", 2.5, node=ONE)], [fault("disturbed", 3.5, node=ONE)],
                       [fault("silent", 2.5, node=ONE, timeout=2)]]:
            self.assertEqual(check(refused(*faults), {1: b"a"}), [], faults)
        self.assertEqual(check(refused(ttr=2.9), {1: b"a"}), [], "its time may have been over")
        self.assertEqual(check([put(0, 1), event("delete", 3, 4, "NOT_FOUND")], {1: b"a"}), [], "it had no job")

    def test_contradictions(self):
        self.expect("twice", [put(0, 1), event("delete", 2, 3, "DELETED"), event("delete", 2, 3, "DELETED", client=2)], {})

        self.expect("twice", [put(0, 1), event("delete", 2, 3, "DELETED"), event("cancel", 2, 3, "CANCELLED")], {})

    def test_untrue_answers(self):
        for kind in ["cancel", "reschedule", "fire"]:
            self.expect("nobody had ended it", [put(0, 1), event(kind, 2, 3, "GONE")], {1: b"a"})
            self.expect("nobody had it", [put(0, 1), event(kind, 2, 3, "IS_RESERVED")], {1: b"a"})
            expired = [put(0, 1, ttr=1), reserved(1, 1.5), event(kind, 2.6, 3, "IS_RESERVED")]
            self.expect("nobody had it", expired, {1: b"a"})
            unknown = [put(0, 1), event("reserve", 1, None, None, job=None)]
            self.assertEqual(check([*unknown, event(kind, 2, 3, "IS_RESERVED")], {1: b"a"}), [])
            self.expect("nobody had it", [*unknown, event("killed", 1.5, 1.5, None), event(kind, 2, 3, "IS_RESERVED")],
                        {1: b"a"})
            for answer, seconds, is_fine in [("TIMED_OUT", 5, True), ("INTERNAL_ERROR", 5, True), ("TIMED_OUT", 4, False)]:
                doubt = [put(0, 1), event("disturbed", 1, 1, None), event("reserve", 1, 1 + seconds, answer, job=None),
                         event(kind, 7, 8, "IS_RESERVED")]
                self.assertEqual(check(doubt, {1: b"a"}) == [], is_fine, "a claim may be in doubt after 5 s")
        for kind, answer in [("cancel", "CANCELLED"), ("reschedule", "RESCHEDULED"), ("fire", "FIRED")]:
            changed = [put(0, 1), reserved(1, 2), event(kind, 3, 4, answer)]
            self.expect("while the client 2 had it", changed, {1: b"a"})
            refused = [*changed[:2], event(kind, 3, 4, "INTERNAL_ERROR")]  # which says that nothing has changed
            self.assertEqual([each for each in check(refused, {1: b"a"}) if "while the client" in each], [])
            changed[2] = event(kind, 1.5, 4, answer)
            self.assertEqual([each for each in check(changed, {1: b"a"}) if "there at the end" not in each
                              and "not there" not in each], [], "it may have been changed before")
        gone = [put(0, 1), event("cancel", 2, 3, "CANCELLED"), event("cancel", 2, 3, "GONE", client=2)]
        self.assertEqual(check(gone, {}), [])

    def test_out_of_order(self):
        self.expect("came before", [], {}, drained=[2, 1], priorities={1: 0, 2: 0})
        self.expect("came before", [], {}, drained=[1, 2], priorities={1: 5, 2: 4})
        self.assertEqual(check([], {}, drained=[2, 1], priorities={1: 5, 2: 4}), [])

    def test_priorities_that_are_certain(self):
        changed = [event("release", 1, 2, "RELEASED", job=2), event("bury", 1, None, None, job=3)]
        puts = [put(0, 1, job=job, priority=7) for job in (1, 2, 3)]
        self.assertEqual(priorities_of([*puts, *changed]), {1: 7})


class Around(unittest.TestCase):
    def test_no_breach_no_events(self):
        self.assertEqual(list(events_around([put(0, 1), event("disturbed", 1, 1, None, job=None)], [])), [])

    def test_the_job_and_what_concerns_any_job(self):
        begun, ended = put(30, 31), event("cancel", 40, 41, "IS_RESERVED")
        near = [event("disturbed", 35, 35, None, job=None), event("reserve", 36, 39, "TIMED_OUT", job=None)]
        others = [put(30, 31, job=2), reserved(32, 33, job=2), event("disturbed", 5, 5, None, job=None),
                  event("reserve", 70, 71, "TIMED_OUT", job=None)]
        found = events_around([ended, *others, *near, begun], [f"job 1 is said to be reserved, but nobody had it: {ended}"])
        self.assertEqual(list(found), [begun, *near, ended])


if __name__ == "__main__":
    main()
