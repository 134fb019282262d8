"""Plays the tests that are random, and those with faults, round after round with new seeds: `scripts/run soak` starts it.

Each step is one program with a seed of its own, some ten seconds to a minute of work. A round has all steps: services and the
runtime in simulated worlds and between real threads, queues and stores against their models, and the server over each store,
killed, on a failing disk, without memory, and as nodes over PostgreSQL that fail over."""
import argparse
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MOST_WAIT = 900  # seconds for a step: one that takes longer hangs
SKIPPED = 77     # the status of a test that something is missing for


@dataclass(frozen=True, eq=False)
class Step:
    layer: str
    name: str
    command: tuple                                   # {seed}: the step's seed; {first}: the first of many worlds
    environment: dict = field(default_factory=dict)  # the same
    needs: str = ""                                  # a file of the build; "": the command itself


def program(layer, path, only, environment, *more):
    return Step(layer, f"{Path(path).name} {only}", (path, f"--gtest_filter={only}", "--gtest_brief=1", *more), environment, path)


def by_ctest(layer, test, environment):
    """A test in Python: ctest knows its command, and the variables that it needs."""
    return Step(layer, test, (), environment, "bin/foliot")


def worlds(count):
    return {"FOLIOT_SIMULATION_WORLDS": str(count), "FOLIOT_SIMULATION_FIRST": "{first}"}


def cases(count):
    return {"RC_PARAMS": f"seed={{seed}} max_success={count}"}


STEPS = (
    program("queue", "tests/queue/queue_test", "Random*", cases(300)),
    program("service", "tests/simulation/simulation_test", "*", worlds(20)),
    program("service", "tests/linearizability/linearizability_simulated_test", "Simulated*", worlds(200)),
    program("service", "tests/linearizability/linearizability_real_test", "*", {"FOLIOT_HISTORIES": "100"}),
    program("service", "tests/service/service_test", "*Race*:*Fault*", {}, "--gtest_repeat=5", "--gtest_shuffle",
            "--gtest_random_seed={small}"),
    program("runtime", "tests/runtime/runtime_test", "Stress*:*Race*:*NoMemory*", {}, "--gtest_repeat=3", "--gtest_shuffle",
            "--gtest_random_seed={small}"),
    program("runtime", "tests/runtime/net/net_test", "*", {}, "--gtest_shuffle", "--gtest_random_seed={small}"),
    program("store in memory", "tests/jobs/jobs_test", "*AgreeWithTheOracle/*-*Canary*", cases(300)),
    program("embedded store", "tests/jobs/embedded_conformance_test", "*AgreeWithTheOracle/*", cases(30)),
    program("policies", "tests/jobs/policies_model_test", "PolicyWalk*", {"FOLIOT_WALKS": "200", "FOLIOT_FIRST_WALK": "{first}"}),
    program("server", "tests/server/server_worlds_test", "*KeepsItsPromises", worlds(200)),
    program("nodes", "tests/jobs/nodes/nodes_worlds_test", "*KeepTheirPromises", worlds(200)),
    program("nodes", "tests/server/node_worlds/node_worlds_test", "*KeepTheirPromises*", worlds(60)),
    by_ctest("server in memory", "serve/memory_test/InMemory", {"FOLIOT_MEMORY_SEED": "{seed}"}),
    by_ctest("server on disk", "serve/crash_test/Crash", {"FOLIOT_CRASH_SEED": "{seed}", "FOLIOT_CRASH_ROUNDS": "60"}),
    by_ctest("server on disk", "serve/memory_test/OnDisk", {"FOLIOT_MEMORY_SEED": "{seed}"}),
    *(by_ctest("server on disk", f"serve/disk_test/{each}", {"FOLIOT_DISK_SEED": "{seed}"})
      for each in ("FailingWrites", "FailingFiles", "SlowSyncs", "PowerLoss")),
    by_ctest("server over PostgreSQL", "serve/memory_test/InDatabase", {"FOLIOT_MEMORY_SEED": "{seed}"}),
    by_ctest("server over PostgreSQL", "serve/nodes_test/NodesUnderLoad", {"FOLIOT_NODES_SEED": "{seed}"}),
    Step("server over PostgreSQL", "scripts/run cluster",
         (sys.executable, "-B", str(ROOT / "scripts/cluster"), "--seconds", "45", "--seed", "{seed}", "--rate", "100"),
         {"FOLIOT": "bin/foliot", "PYTHONPATH": str(ROOT / "tests/support")}, "bin/foliot"),
)


class Tally:
    def __init__(self):
        self.runs, self.skipped, self.seconds, self.failures = 0, 0, 0.0, []


def filled(text, seed):
    """`first` is a number of many worlds that no earlier round has played; GoogleTest's seeds are small."""
    return text.replace("{seed}", str(seed)).replace("{first}", str(seed * 1_000)).replace("{small}", str(seed % 99_998 + 1))


class Soak:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.until = time.monotonic() + 60 * options.minutes
        self.tallies, self.rounds = {}, 0
        self.steps = [each for each in STEPS if not options.only or any(word in f"{each.layer} {each.name}" for word in options.only)]
        self.left_out = [each for each in self.steps if not (options.build / (each.needs or each.command[0])).exists()]
        self.steps = [each for each in self.steps if each not in self.left_out]
        self.logs = options.logs.resolve()
        self.known = {}  # the tests of ctest, by their names

    def run(self):
        self.logs.mkdir(parents=True, exist_ok=True)
        listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=self.options.build, capture_output=True, text=True, check=True)
        self.known = {each["name"]: each for each in json.loads(listed.stdout)["tests"]}
        for each in self.left_out:
            print(f"left out: {each.layer}: {each.name}: {each.needs} is not built", flush=True)
        while self.steps and self.rounds != self.options.rounds:
            self.rounds += 1
            order = list(self.steps)
            self.random.shuffle(order)  # so that a short run, or one that is ended, has played each layer alike
            for step in order:
                if time.monotonic() >= self.until:
                    return
                self.play(step)

    def play(self, step):
        seed = self.random.randrange(1, 1 << 31)
        words, variables = self.call_of(step)
        words = [filled(each, seed) for each in words]
        variables |= {name: filled(text, seed) for name, text in step.environment.items()}
        if step.command and "FOLIOT" in variables:
            variables["FOLIOT"] = str(self.options.build / variables["FOLIOT"])
        began = time.monotonic()
        outcome, output = self.call(words, variables)
        tally = self.tallies.setdefault(step, Tally())
        tally.runs += 1
        tally.seconds += time.monotonic() - began
        tally.skipped += outcome == "skipped"
        if outcome in ("passed", "skipped"):
            return
        log = self.logs / f"{step.name.split()[0].replace('/', '.')}-{seed}.log"
        again = shlex.join([*(f"{name}={text}" for name, text in variables.items()), *words])
        log.write_text(f"env {again}\n\n{output}")
        tally.failures.append((outcome, log))
        print(f"{outcome}: {step.layer}: {step.name}, seed {seed}: {log}", flush=True)

    def call_of(self, step):
        """The command, and the variables that it has whatever the seed is."""
        variables = {"PYTHONDONTWRITEBYTECODE": "1"}
        if step.command:
            first, *others = step.command
            return [first if first.startswith("/") else str(self.options.build / first), *others], variables
        test = self.known.get(step.name)
        if test is None:
            raise SystemExit(f"soak: the build has no test {step.name}: configure it anew")
        for each in test.get("properties", []):
            if each["name"] == "ENVIRONMENT":
                variables |= dict(variable.split("=", 1) for variable in each["value"])
        variables["FOLIOT_POSTGRESQL_MODELS"] = str(self.logs / "models")
        return test["command"], variables

    def call(self, words, variables):
        process = subprocess.Popen(words, cwd=self.logs, env={**os.environ, **variables}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                   start_new_session=True)
        try:
            output = process.communicate(timeout=MOST_WAIT)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return "hung", process.communicate()[0]
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGTERM)
            process.communicate()
            raise
        return {0: "passed", SKIPPED: "skipped"}.get(process.returncode, "failed"), output

    def report(self):
        failures = sum(len(each.failures) for each in self.tallies.values())
        print(f"\n{'layer':<24}{'step':<62}{'runs':>6}{'skipped':>9}{'failed':>8}{'seconds':>9}")
        for step in self.steps:
            tally = self.tallies.get(step, Tally())
            print(f"{step.layer:<24}{step.name:<62}{tally.runs:>6}{tally.skipped:>9}{len(tally.failures):>8}{tally.seconds:>9.0f}")
        runs = sum(each.runs for each in self.tallies.values())
        print(f"\n{runs} runs in {self.rounds} round{'' if self.rounds == 1 else 's'}, {failures} failed; "
              f"the seed was {self.options.seed}")
        if failures:
            print(f"what failed, and the commands that repeat it: {self.logs}")
        return 1 if failures else 0


def read_options():
    parser = argparse.ArgumentParser(
        prog="scripts/run soak", formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__,
        epilog="Exit status: 0 if all passed, 1 if something failed, 2 if nothing could be played. Ctrl-C ends it, with the report.")
    parser.add_argument("--minutes", type=float, default=60, help="how long it begins new steps; default: 60")
    parser.add_argument("--rounds", type=int, default=0, help="it ends earlier, after so many of them; 0, the default: it does not")
    parser.add_argument("--seed", type=int, default=None, help="decides all other seeds; default: any")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], metavar="WORDS",
                        help="the steps with one of these words in their line of the report, with commas")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help=argparse.SUPPRESS)
    parser.add_argument("--logs", type=Path, default=ROOT / "build/soak", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.minutes <= 0:
        parser.error(f"--minutes: {options.minutes:g} is not above 0")
    options.build = options.build.resolve()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1, 1 << 31)
    return options


def main():
    soak = Soak(read_options())
    if not soak.steps:
        print("nothing to play: build the tests, or name other words with --only", file=sys.stderr)
        return 2
    print(f"for {soak.options.minutes:g} minutes, with the seed {soak.options.seed}", flush=True)
    try:
        soak.run()
    except KeyboardInterrupt:
        print("ended by Ctrl-C")
    return soak.report()


if __name__ == "__main__":
    sys.exit(main())
