"""Shows `foliot serve` over PostgreSQL on one machine, under load and with faults, and checks at the end that its
promises held. `scripts/run cluster` starts it."""
import argparse
import os
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
from display import Display
from faults import Faults
from judge import Judge
from kit import postgresql_server
from load import MOST_DELAY, TTR, TUBE, Load
from machines import HOST, PATIENCE, ClusterError, Database, Node, free_ports
from record import Record
from report import print_report

FAULTS = ["kill", "stop", "failover"]
NAMES = ["web1", "web2", "web3"]


def chosen_faults(text):
    kinds = {"all": FAULTS, "none": []}.get(text, text.split(","))
    for kind in kinds:
        if kind not in FAULTS:
            raise argparse.ArgumentTypeError(f"unknown fault '{kind}': write all, none, or some of {','.join(FAULTS)}")
    return kinds


def at_least(least, kind):
    def parse(text):
        value = kind(text)
        if not least <= value < 1e6:
            raise argparse.ArgumentTypeError(f"{text} is not from {least} to 1000000")
        return value
    parse.__name__ = "number"  # in argparse's message
    return parse


def read_options():
    parser = argparse.ArgumentParser(
        prog="scripts/run cluster", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Shows foliot serve over PostgreSQL on this machine: a primary and a synchronous standby in temporary\n"
                    "folders, three nodes, and clients that put jobs and finish them at any node, while nodes are killed and\n"
                    "stopped and the primary crashes. At the end it checks what all clients saw.",
        epilog="Exit status: 0 if all promises held, 1 if one did not, 2 if the cluster could not run.\n"
               "Ctrl-C ends the load and checks; a second Ctrl-C ends at once. Nothing is left behind.")
    parser.add_argument("--rate", type=at_least(1, float), default=200, help="jobs put in a second; default: 200")
    parser.add_argument("--seconds", type=at_least(0, float), default=60, help="length of the load; 0: until Ctrl-C; default: 60")
    parser.add_argument("--faults", type=chosen_faults, default=FAULTS, metavar="FAULTS",
                        help="all (the default), none, or some of kill,stop,failover")
    parser.add_argument("--node-timeout", type=at_least(1, int), default=3, metavar="SECONDS",
                        help="when a silent node is taken for dead; default: 3")
    parser.add_argument("--port", type=at_least(1024, int), default=11300, help="the first node's port; default: 11300")
    parser.add_argument("--keep", action="store_true", help="leave the cluster running after the check, until Ctrl-C")
    parser.add_argument("--seed", type=int, default=None, help="which node fails, and the clients' choices; default: any")
    parser.add_argument("--lose-one", action="store_true",
                        help="remove a job from the database unseen: the check must find that it is lost")
    parser.add_argument("--foliot", default=os.environ.get("FOLIOT", "foliot"), metavar="PROGRAM", help=argparse.SUPPRESS)
    return parser.parse_args()


class Cluster:
    def __init__(self, options):
        self.options = options
        self.seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "big")
        self.over = threading.Event()  # the load is to end
        self.is_under_load = False
        self.database, self.nodes, self.display = None, [], None
        self.record = Record()

    def wait(self, seconds):
        """False when the load is to end."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.over.is_set():
            self.over.wait(min(0.2, max(0.0, until - time.monotonic())))
            self.look_after_parts()
        return not self.over.is_set()

    def look_after_parts(self):
        for node in self.nodes:
            if node.has_died():
                raise ClusterError(f"{node.name} has ended by itself: {node.last_words()}")
        if self.display and self.display.failure:
            raise self.display.failure

    def interrupted(self, *_):
        if not self.is_under_load or self.over.is_set():
            raise KeyboardInterrupt
        self.over.set()

    def make(self):
        print("two PostgreSQL servers, with fsync, and three nodes start ...", flush=True)
        ports = free_ports(self.options.port, len(NAMES))
        self.database = Database()
        self.database.add_standby()
        if self.database.is_in_memory():
            print("note: /tmp is in memory (tmpfs), so a sync costs nothing here")
        self.foliot("--migrate")
        self.nodes = [Node(self.options.foliot, name, port, self.database.connection, self.options.node_timeout)
                      for name, port in zip(NAMES, ports)]
        for node in self.nodes:
            node.start()
        if ports[0] != self.options.port or ports[-1] != ports[0] + len(ports) - 1:
            print(f"some ports from {self.options.port} on are taken: the nodes have {', '.join(map(str, ports))}")

    def foliot(self, *arguments):
        """What the program prints."""
        done = subprocess.run([self.options.foliot, "serve", "--store", self.database.connection, *arguments],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=PATIENCE, check=False)
        if done.returncode != 0:
            raise ClusterError(f"foliot serve {' '.join(arguments)} ended with {done.returncode}: {done.stdout.strip()}")
        return done.stdout.strip()

    def explain(self):
        tube = TUBE.decode()
        print("\nTo look at it from another terminal:")
        for node in self.nodes:
            print(f"  nc {HOST} {node.port:<16}# {node.name}; try: stats-tube {tube}")
        print(f"  psql 'postgresql:///jobs?host={self.database.servers.folder},{self.database.servers.standby}"
              "&user=postgres&target_session_attrs=read-write'\n")

    def run_load(self):
        options = self.options
        load = Load(self.nodes, self.record, options.rate, 2 * options.node_timeout + PATIENCE, self.seed)
        self.display = Display(self.nodes, self.database, self.record)
        faults = Faults(self.nodes, self.database, self.record, options.node_timeout, self.display.announce, self.wait, self.seed)
        self.is_under_load = True
        until = time.monotonic() + options.seconds if options.seconds else float("inf")
        load.start()
        self.display.start()
        if options.faults:
            faults.run(options.faults, options.seconds)
        self.wait(until - time.monotonic())
        if options.lose_one:
            self.lose_one()
        load_end = time.monotonic()
        load.stop_puts()
        self.display.announce(f"no more puts; the workers finish what is left, which takes {MOST_DELAY:.0f} s or longer.")
        self.over.set()
        self.finish_jobs()
        load.stop_work()
        self.display.stop()
        return load_end, load.failures

    def lose_one(self):
        self.display.announce("somebody removes a delayed job from the database (--lose-one).")
        lost = False
        while not lost and self.wait(0.1):
            lost = self.database.sql("SELECT foliot.cancel(id) FROM (SELECT max(id) AS id FROM foliot.delayed) newest") == "t"

    def jobs_left(self):
        ids = self.database.sql("SELECT job.id FROM foliot.job JOIN foliot.tube ON tube.id = job.tube "
                                f"WHERE tube.name = '{TUBE.decode()}' ORDER BY 1")
        return [int(each) for each in ids.split()]

    def finish_jobs(self):
        """Waits until no job is left, or no worker has finished one for a long time."""
        finished, since = -1, time.monotonic()
        while self.jobs_left() and time.monotonic() - since < TTR + PATIENCE:
            self.look_after_parts()
            if len(self.record.finished) != finished:
                finished, since = len(self.record.finished), time.monotonic()
            time.sleep(0.5)

    def check(self, load_end, failures):
        verdict = Judge(self.record, self.jobs_left(), TTR).verdict()
        try:
            self.foliot("--check")
            damage = []
        except ClusterError as error:
            damage = [str(error)]
        verdict.checks.append(("foliot serve --check finds no damage in the database", damage))
        verdict.checks.append(("no client got an answer that it cannot have", failures))
        print_report(verdict, self.record, self.display.began, load_end, self.display.set_back)
        return verdict.holds()

    def keep(self):
        print("\nThe cluster keeps running, without load (--keep). Ctrl-C ends it.", flush=True)
        self.explain()
        try:
            while True:
                time.sleep(0.5)
                self.look_after_parts()
        except KeyboardInterrupt:
            pass

    def end_nodes(self):
        codes = {node.name: node.end_in_order() for node in self.nodes}
        wrong = [f"{name} ended with {code}" for name, code in codes.items() if code != 0]
        if wrong:
            raise ClusterError(f"nodes did not end in order: {', '.join(wrong)}")

    def run(self):
        """Whether all promises held."""
        self.make()
        self.explain()
        print(f"{self.options.rate:g} jobs a second, half of them delayed by up to {MOST_DELAY:.0f} s; seed {self.seed}\n"
              "jobs/s: jobs that workers finished; late: how long after its due time a worker got a delayed job", flush=True)
        holds = self.check(*self.run_load())
        if self.options.keep:
            self.keep()
        self.end_nodes()
        return holds

    def remove(self):
        for node in self.nodes:
            node.remove()
        if self.database:
            self.database.remove()


def main():
    options = read_options()
    if not postgresql_server.is_installed():
        print("foliot: PostgreSQL's server is not installed (Debian: postgresql-15)", file=sys.stderr)
        return 2
    cluster = Cluster(options)
    termination = []

    def terminated(number, _):
        termination.append(128 + number)
        raise SystemExit(128 + number)

    signal.signal(signal.SIGINT, cluster.interrupted)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, terminated)
    try:
        return 0 if cluster.run() else 1
    except KeyboardInterrupt:
        print("ended at once, without a check", file=sys.stderr)
        return 130
    except (ClusterError, RuntimeError, OSError, subprocess.SubprocessError) as error:
        # The exception of a signal comes between any two instructions. Inside of a lock's methods another one follows it,
        # as when a lock is released that was not taken yet.
        if termination:
            return termination[0]
        print(f"foliot: {error}", file=sys.stderr)
        return 2
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        cluster.remove()


if __name__ == "__main__":
    sys.exit(main())
