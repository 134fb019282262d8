#!/usr/bin/env python3
"""Mutation testing: changes foliot's sources, a little and one place at a time, and tells which changes no test notices.

usage: tests/mutation/mutate.py --budget MINUTES [--switched] [--seed N] [--only TARGET,...] [--jobs N] [--log FILE]
       tests/mutation/mutate.py --log FILE --table     prints the table of a log, and tries nothing
       tests/mutation/mutate.py --list                 prints the targets, and how many mutants each has

Builds nothing but what it changes: the programs of the tests must be there (preset release). A mutant is compiled with -O0
in a copy of the sources, in a folder of its own; the tree and the build are only read. A log has a line of JSON for each
mutant; a later run with the same log passes over the mutants that it has. Mutants which no test can notice, and why, are in
equivalent.toml. Exit status: 0, also if mutants survive; 2 if nothing could be tried.

A mutant is
  killed            a test fails, or the program ends with a signal
  timed out         it takes five times as long as the sources do, and at least ten seconds of a processor, or uses none for 15 s
  did not compile
  survived          no test notices it
  equivalent        it survived, and equivalent.toml says why nothing could notice it
"""
import argparse
import hashlib
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from pathlib import Path

from mutations import mutations_of, switched, switched_edits
from targets import TARGETS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUTCOMES = ["killed", "timed out", "survived", "equivalent", "did not compile"]
WAIT = 15               # seconds in which a program may use no processor: longer is a dead lock
MOST_MEMORY = 12 << 30  # bytes of the address space; the model checker's fibers have many stacks


class Failure(Exception):
    pass


class Build:
    """What the build knows: how a source is compiled, what a program is linked of, and what depends on a file."""

    def __init__(self, folder):
        self.folder = folder
        listed = folder / "compile_commands.json"
        if not listed.exists():
            raise Failure(f"{listed} is missing: configure with `cmake --preset release`")
        self.commands = [(each["file"], shlex.split(each["command"])) for each in json.loads(listed.read_text())]
        cache = (folder / "CMakeCache.txt").read_text()
        self.root = Path(re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache, re.MULTILINE).group(1))
        self.links, self.depends = {}, None
        self.guard = threading.Lock()

    def flags(self, source, program):
        """The options for `source`: its own, or else those of the program's other sources."""
        path = str(self.root / source)
        own = [words for file, words in self.commands if file == path]
        # A source that the model compiles again has several commands: its libraries' comes first.
        own.sort(key=lambda words: "/tests/" in " ".join(words[words.index("-o"):]))
        folder = f"{program}.dir/".replace(Path(program).name, f"CMakeFiles/{Path(program).name}")
        near = [words for _, words in self.commands if folder in words[words.index("-o") + 1]]
        if not own and not near:
            raise Failure(f"the build has no command for {source}, nor for the sources of {program}")
        return self.kept((own or near)[0])

    @staticmethod
    def kept(words):
        """Without warnings, optimisation and precompiled headers."""
        kept, passes = [], 0
        for at, word in enumerate(words):
            if passes:
                passes -= 1
            elif word in ("-o", "-include", "-c"):
                passes = 1
            elif not re.match(r"-W|-O\d|-Winvalid-pch|--param", word):
                kept.append(word)
        return [*kept, "-O0", "-w"]

    def link(self, program):
        """The compiler with its options, the objects, and the libraries."""
        with self.guard:
            if program not in self.links:
                lines = self.run_ninja("commands", program).strip().splitlines()
                line = next((each for each in reversed(lines) if f"-o {program} " in each), None)
                if line is None or not (self.folder / program).exists():
                    raise Failure(f"{program} is not built: cmake --build {self.folder} --target {Path(program).name}")
                words = shlex.split(line.split("&&")[1])
                at = words.index("-o")
                objects = [each for each in words[:at] if each.endswith(".o")]
                self.links[program] = ([each for each in words[:at] if not each.endswith(".o")], objects, words[at + 2:])
            return self.links[program]

    def run_ninja(self, *tool):
        return subprocess.run(["ninja", "-C", self.folder, "-t", *tool], capture_output=True, text=True, check=True).stdout

    def units(self, file, program):
        """The sources of the program's libraries whose objects depend on `file`."""
        _, _, libraries = self.link(program)
        folders = [f"CMakeFiles/{Path(each).stem[3:]}.dir/" for each in libraries if re.match(r"[^/].*\.a$|lib.*\.a$", each)]
        with self.guard:
            if self.depends is None:
                self.depends = {}
                for block in self.run_ninja("deps").split("\n\n"):
                    head, *names = block.strip().splitlines() or [""]
                    self.depends[head.split(":")[0]] = {os.path.normpath(self.folder / each.strip()) for each in names}
        found = []
        for made, names in self.depends.items():
            if str(self.root / file) in names and any(folder in made for folder in folders):
                source = made.split(".dir/", 1)[1].removesuffix(".o")
                if (ROOT / source).exists():
                    found.append(source)
        if not found:
            raise Failure(f"no library of {program} depends on {file}: name the units in targets.py")
        return tuple(sorted(found))


def ticks_of(process):
    """How much of a processor it has used; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


class Runner:
    """Runs programs, one at a time."""

    def __init__(self, build):
        self.build, self.output, self.seconds = build, "", 0.0

    def run(self, words, seconds, environment=None, memory=None):
        """The exit status, or None if it was ended after `seconds` of a processor."""
        def limit():
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if memory:
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        process = subprocess.Popen(words, cwd=self.build.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace", preexec_fn=limit,
                                   env={**os.environ, **(environment or {})})
        used, still = -1, 0
        while True:
            try:
                self.output = process.communicate(timeout=5)[0]
                break
            except subprocess.TimeoutExpired:
                now = ticks_of(process.pid)
                still = still + 5 if now == used else 0  # it waits, however busy the machine is
                used = now
                if memory and still >= WAIT:  # a compiler's driver waits for the compiler
                    os.killpg(process.pid, signal.SIGKILL)
        return None if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL) else process.returncode

    def try_program(self, program, stage, most, mutant=None):
        """killed, timed out or survived."""
        environment = dict(stage.environment)
        if mutant is not None:
            environment["FOLIOT_MUTANT"] = str(mutant)
        began = time.monotonic()
        status = self.run([program, f"--gtest_filter={stage.only}", "--gtest_fail_fast", "--gtest_brief=1"], most, environment, MOST_MEMORY)
        self.seconds = time.monotonic() - began  # no less than the time of a processor
        if status is None:
            return "timed out"
        return "survived" if status == 0 else "killed"

    def killer(self):
        found = re.search(r"\[  FAILED  \] ([\w./]+)", self.output)
        return found.group(1) if found else self.output.strip().splitlines()[-1][:100] if self.output.strip() else ""


class Worker(Runner):
    """One mutant after another, in a copy of the sources."""

    def __init__(self, build, number):
        super().__init__(build)
        self.folder = Path(tempfile.mkdtemp(prefix=f"foliot-mutants-{number}-"))
        for part in ("include", "src", "tests"):
            shutil.copytree(ROOT / part, self.folder / part, ignore=shutil.ignore_patterns("corpus", "formats", "*.py", "*.gz"))

    def close(self):
        shutil.rmtree(self.folder)

    def compile(self, source, stage):
        """The object, or None if it does not compile."""
        made = self.folder / (source.replace("/", "_") + ".o")
        words = [each if each.startswith(f"-I{self.build.folder}") else each.replace(f"-I{self.build.root}/", f"-I{self.folder}/")
                 for each in self.build.flags(source, stage.program)]
        done = self.run([*words, *stage.define, "-o", str(made), "-c", str(self.folder / source)], 600)
        return str(made) if done == 0 else None

    def program_of(self, stage, file):
        """The program of a stage, with what lies in this worker's copy of the sources; None if it does not compile."""
        head, objects, libraries = self.build.link(stage.program)
        for each in stage.units or self.build.units(file, stage.program):
            if self.compile(each, stage) is None:
                return None
        made = [str(self.folder / (each.replace("/", "_") + ".o")) for each in stage.units or self.build.units(file, stage.program)]
        kept = [each for each in objects if re.search(stage.keep, each)]
        program = str(self.folder / "mutant")
        # Twice as usual: the first definition counts, also of an inline function, which -O0 calls.
        if self.run([*head, *made, *kept, "-Wl,--allow-multiple-definition", "-o", program, *libraries], 600) != 0:
            return None
        return program

    def try_stage(self, stage, file, most):
        """killed, timed out, did not compile or survived."""
        program = self.program_of(stage, file)
        return "did not compile" if program is None else self.try_program(program, stage, most)


class Pile:
    """The mutants of a file that one program can have, each behind a switch; and those that it cannot."""

    def __init__(self, target, file, mutants):
        self.target, self.file, self.source = target, file, (ROOT / file).read_text()
        self.numbered = [each for each in enumerate(mutants) if switched_edits(self.source, *each)]
        self.single = [each for each in mutants if not switched_edits(self.source, 0, each)]

    def put(self, worker):
        (worker.folder / self.file).write_text(switched(self.source, self.numbered, HERE / "switches.hpp"))

    def drop_lines(self, text):
        """Takes out the mutants in the lines that the compiler names; False if it names none."""
        lines = {int(each) for each in re.findall(rf"{re.escape(self.file)}:(\d+):", text)}
        dropped = [each for each in self.numbered if each[1].line in lines]
        self.numbered = [each for each in self.numbered if each[1].line not in lines]
        self.single += [each for _, each in dropped]
        return bool(dropped)


class Judge:
    def __init__(self, options, build):
        self.options, self.build = options, build
        self.guard, self.until = threading.Lock(), time.monotonic() + 60 * options.budget
        self.limits, self.turns, self.unusable = {}, {}, {}
        self.known = read_equivalents()
        self.log = Path(options.log) if options.log else None
        self.records = read_log(self.log)
        self.tried = {(each["file"], each["key"]) for each in self.records}

    def record(self, target, file, mutant, outcome, stage, began, runner):
        return {"target": target.name, "file": file, "line": mutant.line, "kind": mutant.kind, "key": mutant.key,
                "outcome": outcome, "stage": stage, "seconds": round(time.monotonic() - began, 1),
                "by": runner.killer() if outcome == "killed" else ""}

    def play_pile(self, worker, target, file):
        """One program for each stage; what survives a stage goes on to the next one. Returns what must be tried alone."""
        mutants = [each for each in mutations_of((ROOT / file).read_text()) if (file, each.key) not in self.tried]
        pile = Pile(target, file, mutants)
        left = None  # the numbers that are to be tried
        for number, stage in enumerate(target.stages, 1):
            program = None
            for _ in range(5):
                pile.put(worker)
                program = worker.program_of(stage, file)
                if program is not None or not pile.drop_lines(worker.output):
                    break
            (worker.folder / file).write_text(pile.source)
            if program is None:
                raise Failure(f"{file} does not compile with switches: {worker.output[-500:]}")
            if worker.try_program(program, stage, 600) != "survived":
                raise Failure(f"{stage.program} fails without a mutant: {worker.output[-500:]}")
            most = max(10, 5 * worker.seconds)
            todo = [each for each in pile.numbered if left is None or each[0] in left]
            random.Random(self.options.seed).shuffle(todo)
            left = self.play_switches(target, file, program, number, stage, todo, most)
            if not left:
                break
        return pile.single

    def play_switches(self, target, file, program, number, stage, todo, most):
        """The numbers of those that go on to the next stage."""
        todo, survived = list(todo), set()
        is_last = number == len(target.stages)

        def work():
            runner = Runner(self.build)
            while time.monotonic() < self.until:
                with self.guard:
                    if not todo:
                        return
                    switch, mutant = todo.pop()
                began = time.monotonic()
                outcome = runner.try_program(program, stage, most, switch)
                if outcome == "survived":
                    survived.add(switch)
                if outcome != "survived" or is_last:
                    self.note(self.record(target, file, mutant, outcome, number, began, runner))
        threads = [threading.Thread(target=work) for _ in range(self.options.jobs)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return survived

    def run_piles(self):
        names = self.options.only.split(",") if self.options.only else [each.name for each in TARGETS]
        worker = Worker(self.build, 0)
        try:
            for target in TARGETS:
                for file in target.files if target.name in names else ():
                    if time.monotonic() >= self.until or target.name in self.unusable:
                        break
                    try:
                        self.play_pile(worker, target, file)
                    except Failure as why:
                        self.unusable[target.name] = str(why)
                        print(f"left out: {target.name}: {why}", file=sys.stderr, flush=True)
        finally:
            worker.close()

    def choose(self):
        """The mutants of all targets, one of each target in turn, each target's in an order that the seed decides."""
        names = self.options.only.split(",") if self.options.only else [each.name for each in TARGETS]
        piles = []
        for target in TARGETS:
            if target.name not in names:
                continue
            mutants = [(target, file, each) for file in target.files for each in mutations_of((ROOT / file).read_text())]
            seed = f"{self.options.seed} {target.name}"
            random.Random(hashlib.sha256(seed.encode()).hexdigest()).shuffle(mutants)
            piles.append([each for each in mutants if (each[1], each[2].key) not in self.tried])
        while any(piles):
            for pile in piles:
                if pile:
                    yield pile.pop()

    def limit(self, worker, stage, file):
        """The seconds of a processor that a mutant may take; the sources must pass."""
        key = (stage.program, stage.units or self.build.units(file, stage.program), stage.only, stage.keep, stage.define)
        with self.guard:
            turn = self.turns.setdefault(key, threading.Lock())
        with turn:
            if key not in self.limits:
                if worker.try_stage(stage, file, 600) != "survived":
                    raise Failure(f"{stage.program} fails without a mutant: {worker.output[-500:]}")
                self.limits[key] = max(10, 5 * worker.seconds)
            return self.limits[key]

    def judge(self, worker, target, file, mutant):
        source = (ROOT / file).read_text()
        place = worker.folder / file
        began, stages = time.monotonic(), 0
        try:
            for stage in target.stages:
                place.write_text(source)
                most = self.limit(worker, stage, file)
                place.write_text(mutant.applied(source))
                outcome = worker.try_stage(stage, file, most)
                stages += 1
                if outcome != "survived":
                    break
        finally:
            place.write_text(source)
        return self.record(target, file, mutant, outcome, stages, began, worker)

    def note(self, record):
        with self.guard:
            self.records.append(record)
            if self.log:
                with self.log.open("a") as out:
                    out.write(json.dumps(record) + "\n")
            reason = self.known.get((record["file"], record["key"]))
            if record["outcome"] == "survived" and reason is None:
                print(f"survived: {record['file']}:{record['line']}: {record['key']}", flush=True)

    def run(self):
        chosen = self.choose()
        workers = [Worker(self.build, number) for number in range(self.options.jobs)]

        def work(worker):
            while time.monotonic() < self.until:
                with self.guard:
                    target, file, mutant = next(chosen, (None, None, None))
                if target is None:
                    return
                if target.name in self.unusable:
                    continue
                try:
                    self.note(self.judge(worker, target, file, mutant))
                except Failure as why:
                    self.unusable[target.name] = str(why)
                    print(f"left out: {target.name}: {why}", file=sys.stderr, flush=True)
        threads = [threading.Thread(target=work, args=(each,)) for each in workers]
        try:
            for each in threads:
                each.start()
            for each in threads:
                each.join()
        finally:
            self.until = 0
            for each in threads:
                each.join()
            for each in workers:
                each.close()


def read_equivalents():
    """The reason by file and change."""
    listed = tomllib.loads((HERE / "equivalent.toml").read_text()).get("equivalent", [])
    return {(each["file"], each["change"]): each["reason"] for each in listed}


def read_log(log):
    if log is None or not log.exists():
        return []
    return [json.loads(line) for line in log.read_text().splitlines() if line.strip()]


def print_table(records, known):
    """One line for each target, and the survivors behind."""
    counts = {}
    for each in records:
        outcome = each["outcome"]
        if outcome == "survived" and (each["file"], each["key"]) in known:
            outcome = "equivalent"
        counts.setdefault(each["target"], dict.fromkeys(OUTCOMES, 0))[outcome] += 1
    if not counts:
        return
    counts["all"] = {outcome: sum(each[outcome] for each in counts.values()) for outcome in OUTCOMES}
    print("| target | mutants | " + " | ".join(OUTCOMES) + " | noticed |")
    print("|---|---:|" + "---:|" * (len(OUTCOMES) + 1))
    for name, each in counts.items():
        judged = each["killed"] + each["timed out"] + each["survived"]
        noticed = f"{100 * (judged - each['survived']) / judged:.0f} %" if judged else ""
        print(f"| {name} | {sum(each.values())} | " + " | ".join(str(each[outcome]) for outcome in OUTCOMES) + f" | {noticed} |")


def read_options():
    parser = argparse.ArgumentParser(description="Tells which small changes of the sources no test notices.",
                                     formatter_class=argparse.RawDescriptionHelpFormatter, epilog=__doc__.split("\n\n", 2)[2])
    parser.add_argument("--budget", type=float, default=0, metavar="MINUTES", help="how long it begins new mutants")
    parser.add_argument("--seed", type=int, default=1, help="which mutants come first; default: 1")
    parser.add_argument("--only", default="", metavar="TARGETS", help="some of the targets, with commas")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="mutants at a time; default: 1")
    parser.add_argument("--log", default="", metavar="FILE", help="where the results of this run and of earlier ones are")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", metavar="DIR", help="default: build/release")
    parser.add_argument("--switched", action="store_true",
                        help="only the mutants that one program can have, each behind a switch: a file after the other, and quicker")
    parser.add_argument("--table", action="store_true", help="print the table of the log, and try nothing")
    parser.add_argument("--list", action="store_true", help="print the targets")
    options = parser.parse_args()
    unknown = set(filter(None, options.only.split(","))) - {each.name for each in TARGETS}
    if unknown:
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(each.name for each in TARGETS)}")
    if not options.table and not options.list and options.budget <= 0:
        parser.error("--budget: say for how many minutes, such as 30")
    return options


def main():
    options = read_options()
    if options.list:
        for target in TARGETS:
            count = sum(len(mutations_of((ROOT / file).read_text())) for file in target.files)
            print(f"{target.name:20}{count:6} mutants of {len(target.files)} files, {len(target.stages)} stages")
        return 0
    if options.table:
        print_table(read_log(Path(options.log)), read_equivalents())
        return 0
    try:
        judge = Judge(options, Build(options.build.resolve()))
    except Failure as why:
        print(f"mutate.py: {why}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # Judge.run() then ends what it has begun
    if options.switched:
        judge.run_piles()
    else:
        judge.run()
    print_table(judge.records, judge.known)
    return 0 if judge.records else 2


if __name__ == "__main__":
    sys.exit(main())
