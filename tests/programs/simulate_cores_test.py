"""bench/simulate_cores.py gives what is known exactly: its arithmetic, not the speed of a machine."""
import unittest

from kit.program_case import main
from simulate_cores import Costs, broker, shards, stealing


class SimulatedCores(unittest.TestCase):
    def near(self, value, expected, share=0.02):
        self.assertLess(abs(value / expected - 1), share, f"{value} is not near {expected}")

    def test_threads_that_share_nothing_do_what_one_does_alone(self):
        costs = Costs(own=100, think=900)
        for cores in (1, 16, 64):
            self.near(shards(costs, cores, cores, 0.0, 500), 1e9 / 1_000)

    def test_one_shard_gives_what_a_lock_hands_over(self):
        costs = Costs(own=100, lines=2, line=150, think=0.0)
        self.near(shards(costs, 16, 1, 0.0, 500) * 16, 1e9 / (100 + 2 * 150))

    def test_remote_calls_cost_their_lines_while_nobody_waits(self):
        costs = Costs(own=20, lines=2, line=150, think=100_000)
        self.near(shards(costs, 64, 64, 1.0, 200), 1e9 / (100_000 + 20 + 300))

    def test_one_core_runs_a_burst_alone(self):
        self.assertEqual(stealing(Costs(), 1, 100, 1_000), (100_000, 100_000))

    def test_a_burst_takes_no_less_than_its_work_and_all_of_it_is_done(self):
        for cores in (2, 16, 64):
            took, ideal = stealing(Costs(), cores, 4_096, 10_000)
            self.assertGreater(took, ideal)
            self.assertLess(took, ideal + cores * 100_000)

    def test_a_second_worker_comes_after_a_wake_up(self):
        costs = Costs(wake=1_000, waker=0, look=0)
        self.assertEqual(stealing(costs, 2, 2, 1_000_000)[0], 1_001_000)

    def test_waking_two_each_is_not_slower(self):
        for cores in (16, 64):
            self.assertLessEqual(stealing(Costs(), cores, 4_096, 10_000, 2)[0], stealing(Costs(), cores, 4_096, 10_000)[0])

    def test_a_broker_is_bound_by_its_cores_and_by_its_store(self):
        costs = Costs(session=3_000, store=1_000)
        self.near(broker(costs, 1, seconds=0.05), 1e9 / 4_000)
        self.near(broker(costs, 64, seconds=0.05), 1e9 / 1_000, 0.05)
        self.near(broker(costs, 64, stores=4, seconds=0.05), 4e9 / 1_000, 0.1)


if __name__ == "__main__":
    main()
