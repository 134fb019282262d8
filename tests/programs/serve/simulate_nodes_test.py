"""bench/simulate_nodes.py gives what is known exactly: its arithmetic, not the speed of this machine."""
import argparse
import unittest

from kit.program_case import main
from measure_nodes import predict
from simulate_nodes import MOST_REQUESTS, Load, Simulation, cost, simulate


def statement(first=0.0, job=0.0, pair=0.0, byte=0.0):
    return {"first": first, "job": job, "pair": pair, "byte": byte}


def figure(batch=0.0, write=0.0, put=statement(), claim=statement(), finish=statement()):
    return {"batch": batch, "write": write, "put": put, "claim": claim, "finish": finish}


def parameters(**others):
    """In us and bytes."""
    cpu = figure(100, 50, statement(30, 10), statement(20, 5), statement(10, 6, 0.5))
    wal = figure(0, 50, statement(30, 400, 0, 1), statement(20, 300), statement(10, 200))
    return {"cpu": cpu, "wal": wal, "node": figure(), "scan": 120.0, "beat": 300.0, "rotation": 90.0, "no_rotation": 5.0,
            "tell": 50.0, "listen": 5.0, "commit": 500.0, "way": 25.0} | others


class SimulatedNodes(unittest.TestCase):
    def near(self, value, expected, share):
        self.assertLess(abs(value / expected - 1), share, f"{value} is not near {expected}")

    def test_the_cost_of_a_batch(self):
        self.assertEqual(cost(parameters()["cpu"], {"put": 0, "claim": 0, "finish": 0}, 100), 100)
        self.assertEqual(cost(parameters()["cpu"], {"put": 4, "claim": 0, "finish": 2}, 100),
                         100 + 50 + 30 + 40 + 10 + 12 + 0.5 * 4)
        self.assertEqual(cost(parameters()["wal"], {"put": 2, "claim": 2, "finish": 0}, 100),
                         50 + 30 + 2 * (400 + 100) + 20 + 2 * 300)

    def test_nodes_without_clients_cost_beats_and_rotations(self):
        for nodes in (1, 3, 50):
            got = simulate(parameters(), Load(nodes, 0, 0, seconds=62.5, cores=1))
            # The beats of 50 s, each of a batch and a turn of the rotation, of which the nodes share two in a second.
            calls = 20 * nodes
            turns = min(calls, 2 * 50)
            self.near(got["database"] * 50e6, calls * (100 + 300) + turns * 90 + (calls - turns) * 5, 0.06)
            self.near(got["batches"], 0.4 * nodes, 0.06)
            self.assertEqual((got["finished"], got["wal"], got["told"]), (0, 0, 0))

    def test_waiting_workers_cost_a_scan_each_second(self):
        got = simulate(parameters(), Load(10, 0, 10, seconds=62.5, cores=1))
        self.near(got["batches"], 10 * (1 + 0.4), 0.03)
        self.assertEqual(got["finished"], 0)

    def test_a_lone_job_takes_the_sum_of_its_steps(self):
        got = simulate(parameters(), Load(1, 1, 5, seconds=200, cores=8))
        # Put and claim in one batch, two round trips and a sync.
        self.near(got["p50"], 4 * 25 + 100 + 50 + 30 + 10 + 20 + 5 + 500, 0.001)

    def test_a_saturated_node_makes_full_batches(self):
        load = Load(1, 120_000, 0, seconds=2, most_unanswered=4 * MOST_REQUESTS)
        takes = 4 * 25 + 100 + 50 + 30 + MOST_REQUESTS * 10 + 500
        self.near(simulate(parameters(rotation=0.0, beat=0.0), load)["put"], MOST_REQUESTS / takes * 1e6, 0.01)

    def test_a_saturated_database_is_bound_by_its_cores(self):
        for cores in (1, 4):
            load = Load(40, 8_000 * cores, 0, seconds=1, cores=cores, most_requests=1, most_unanswered=400)
            got = simulate(parameters(rotation=0.0, beat=0.0, tell=0.0, listen=0.0, commit=1.0), load)
            self.near(got["put"], cores / (100 + 50 + 30 + 10) * 1e6, 0.01)
            self.near(got["database"], 1, 0.01)

    def test_nodes_share_syncs(self):
        for nodes in (2, 10):
            load = Load(nodes, 1_000, 0, seconds=10, cores=100, most_requests=1, most_unanswered=400)
            got = simulate(parameters(rotation=0.0, beat=0.0, tell=0.0, listen=0.0, commit=50_000.0), load)
            self.near(got["syncs"], 20, 0.03)
            # A node comes too late for every other sync: its answer is what lets it begin the next batch.
            self.near(got["put"], nodes * 10, 0.05)

    def test_requests_at_random_wait_as_in_a_queue_of_one_server(self):
        cpu = figure(100, 0, statement(0, 900))
        load = Load(1, 700, 0, seconds=100, cores=1, most_requests=1)
        simulation = Simulation(parameters(cpu=cpu, commit=0.0, way=0.0, rotation=0.0, beat=0.0, tell=0.0, listen=0.0), load)
        # M/D/1 with 0.7 of the time busy: the mean number of requests is r + r^2 / 2 / (1 - r).
        area = last = 0.0
        count = 0
        seen = simulation.come, simulation.conclude

        def step(by):
            nonlocal area, last, count
            area += count * (simulation.clock.now - last)
            last = simulation.clock.now
            count += by

        def come(*what):
            step(1)
            seen[0](*what)

        def conclude(*what):
            step(-what[1]["put"])
            seen[1](*what)

        simulation.come, simulation.conclude = come, conclude
        simulation.run()
        self.near(area / last, 0.7 + 0.7**2 / 2 / 0.3, 0.05)

    def test_news_wake_the_nodes_that_wait(self):
        # The first node has the only worker, and half of the jobs come to the second one.
        got = simulate(parameters(), Load(2, 100, 1, seconds=50))
        self.near(got["finished"], 100, 0.05)
        self.assertGreater(got["told"], 30)
        self.assertLess(got["p50"], 10_000)

    def begin_to_gather(self, served):
        """A node whose last batch, for so many, has just ended."""
        simulation = Simulation(parameters(), Load(1, 0, 0))
        node = simulation.nodes[0]
        node.next_beat = node.next_rotation = float("inf")
        node.served, node.ended = served, 0.0
        return simulation, node

    def test_a_batch_waits_for_most_of_the_clients_that_the_last_one_has_answered(self):
        for served, enough in ((1, 1), (9, 9), (20, 18), (1000, 256)):
            simulation, node = self.begin_to_gather(served)
            for _ in range(enough - 1):
                simulation.come(node, "put", 0)
            self.assertFalse(node.busy)
            simulation.come(node, "put", 0)
            self.assertTrue(node.busy)

    def test_a_batch_waits_no_longer_than_a_millisecond_and_not_with_news(self):
        simulation, node = self.begin_to_gather(20)
        simulation.end_batch(node)
        simulation.come(node, "put", 0)
        simulation.clock.run(999)
        self.assertFalse(node.busy)
        simulation.clock.run(1000)
        self.assertTrue(node.busy)
        simulation, node = self.begin_to_gather(20)
        node.has_news = True
        simulation.come(node, "put", 0)
        self.assertTrue(node.busy)

    def test_a_prediction_beside_a_measurement_has_the_cores_of_the_machine(self):
        # The nodes and the clients alone take 1.6 ms for a job.
        got = {"nodes": 1, "finished": 1000, "node_cpu": 1.0, "client_cpu": 0.6, "sync": 100.0, "stretch": 1.0}
        for cores in (1, 2, 4):
            options = argparse.Namespace(cores=cores, workers=64, seconds=5.0)
            most = cores / 0.0016
            self.near(predict(parameters(), options, got | {"rate": most / 2})["finished"], most / 2, 0.05)
            beyond = got | {"rate": 2 * most}
            predicted = predict(parameters(), options, beyond)
            self.assertLess(predicted["finished"], most)
            # The waiting for cores that the measurement has seen is not added to that of the simulation.
            self.assertEqual(predict(parameters(), options, beyond | {"stretch": 3.0}), predicted)

    def test_a_seed_gives_one_run(self):
        first, again = (simulate(parameters(), Load(3, 500, seconds=2, seed=7)) for _ in range(2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, simulate(parameters(), Load(3, 500, seconds=2, seed=8)))


if __name__ == "__main__":
    main()
