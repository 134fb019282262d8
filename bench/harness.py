"""What the commands in this folder have in common: their arguments, the servers that they measure, the program that loads
these, and the lines of figures that they print."""
import argparse
import contextlib
import json
import os
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path

from kit import postgresql_server
from kit.beanstalk_client import Connection, free_port

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build" / "release" / "bin" / "foliot"
HOST = "127.0.0.1"
ATTEMPTS = 20  # to start a node
PATIENCE = 300  # seconds for a step of a program
COSTS = ("cpu", "wal", "node")  # the figures of bench/database_costs.py


# ---------------------------------------------------------------- arguments: each is a `type` of argparse

def positive(text):
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return value


def positives(text):
    """Several of them, with commas."""
    return [positive(each) for each in text.split(",")]


def names(known):
    """Some of these names, with commas."""
    def parse(text):
        unknown = [each for each in text.split(",") if each not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"there is no {unknown[0]!r}: choose of {', '.join(known)}")
        return text.split(",")
    return parse


def file_to_write(text):
    path = Path(text)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {path.parent}")
    return path


def built(text):
    """The program foliot, beside which foliot-bench lies."""
    path = Path(text)
    for each in (path, path.with_name("foliot-bench")):
        if not os.access(each, os.X_OK):
            raise argparse.ArgumentTypeError(
                f"there is no {each}: build it with `cmake --preset release && cmake --build --preset release --target"
                f" {each.name}`")
    return path.resolve()


def costs(text):
    """The parameters in a file of bench/database_costs.py."""
    try:
        parameters = json.loads(Path(text).read_text())
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot read {text}: {error.strerror}; make it with"
                                         f" `bench/database_costs.py --json {text}`") from error
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text} is not JSON: {error}") from error
    if not isinstance(parameters, dict) or any(figure not in parameters for figure in COSTS):
        raise argparse.ArgumentTypeError(f"{text} is not a file that `bench/database_costs.py --json` has written")
    return parameters


class Arguments(argparse.ArgumentParser):
    """Those of a command, whose docstring is its help: with --program, which all but computations have."""

    def __init__(self, docstring, measures=True, **more):
        super().__init__(description=docstring, formatter_class=argparse.RawDescriptionHelpFormatter, **more)
        if measures:
            self.add("--program", built, PROGRAM, "the program foliot")

    def add(self, name, kind, usual=None, what=None):
        """An option, whose help says what it has by default."""
        shown = "" if usual is None or name == "--program" else f"{'; ' if what else ''}{usual} by default"
        self.add_argument(name, type=kind, default=str(usual) if isinstance(usual, Path) else usual,
                          help=((what or "") + shown).replace("%", "%%"))

    def add_json(self, what="a file for all figures, as JSON"):
        self.add("--json", file_to_write, what=what)


# ---------------------------------------------------------------- servers

def migrate(program, database):
    subprocess.run([program, "serve", "--store", database, "--migrate"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def postgresql(program=None, settings=""):
    """A private server, whose database `program` has prepared. Ends the command where PostgreSQL is not installed."""
    if not postgresql_server.is_installed():
        sys.exit(f"{Path(sys.argv[0]).name}: there is no PostgreSQL server (Debian: postgresql-15)")
    server = postgresql_server.PostgresqlServer()
    try:
        if settings:
            with (Path(server.folder) / "data" / "postgresql.conf").open("a") as file:
                file.write(settings)
            server.restart()
        if program:
            migrate(program, server.database)
        yield server
    finally:
        server.remove()


def answers(where, process):
    """Whether the node answers at this place, and no other program. False if its process has ended, or if it does not
    answer within PATIENCE."""
    until = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < until:
        try:  # a connect is not enough: at its start a node listens for a moment, to see whether it can
            with contextlib.closing(Connection((HOST, where) if isinstance(where, int) else where)) as made:
                if made.numbers(b"stats\r\n").get("pid") == process.pid:
                    return True
        except (OSError, EOFError):
            pass
        time.sleep(0.05)
    return False


def start(arguments, path=None, log=subprocess.DEVNULL):
    """A server: its port, or the path of its local socket, and its process. It answers."""
    for _ in range(1 if path else ATTEMPTS):  # another program may take a port first
        where = path or free_port()
        address = f"unix:{path}" if path else f"{HOST}:{where}"
        process = subprocess.Popen([*arguments, "--beanstalk", address], stderr=log)
        with killed_on_failure(process):
            if answers(where, process):
                return where, process
            if process.poll() is None:
                raise RuntimeError(f"`{shlex.join(map(str, arguments))}` does not answer within {PATIENCE} s")
    raise RuntimeError(f"`{shlex.join(map(str, arguments))}` ended with the status {process.returncode}")


@contextlib.contextmanager
def killed_on_failure(process):
    """Ends the process if the block is left by an exception, such as the user's Ctrl-C."""
    try:
        yield
    except BaseException:
        process.kill()
        process.wait()
        raise


@contextlib.contextmanager
def serving_nodes(program, database, count, folder=None, sessions=None):
    """Pairs of port and process; with a folder, pairs of the path of a local socket in it and process. Without `sessions`
    a node has as many as it has by itself."""
    more = [] if sessions is None else ["--sessions", str(sessions)]
    nodes = []
    try:
        for number in range(count):
            nodes.append(start([program, "serve", "--store", database, "--node", f"n{number}", *more],
                               folder and f"{folder}/n{number}"))
        yield nodes
    finally:
        for _, process in nodes:
            process.kill()
            process.wait()


def addresses(nodes):
    """As `foliot-bench queue --nodes` takes them."""
    return ",".join(str(where) if isinstance(where, int) else f"unix:{where}" for where, _ in nodes)


def psql(database):
    """A session with the database, for ask()."""
    return subprocess.Popen(["psql", "-qXAt", "-d", database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(session, statements):
    session.stdin.write(statements + "\n\\echo done\n")
    session.stdin.flush()
    while line := session.stdout.readline():
        if line.strip() == "done":
            return
    raise RuntimeError("psql has ended")


# ---------------------------------------------------------------- programs that load them

class LineProgram:
    """A program that writes a line of JSON after each step, and waits for a line before the next one. Ends with this
    object, as a context."""

    def __init__(self, *command, environment=None):
        self.process = subprocess.Popen([str(each) for each in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=os.environ | (environment or {}))

    @property
    def pid(self):
        return self.process.pid

    def next(self, patience=PATIENCE):
        """What the next line says."""
        timer = threading.Timer(patience, self.process.kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        if not line:
            status = self.process.wait()
            raise RuntimeError(f"`{shlex.join(self.process.args)[:200]}` ended with the status {status}"
                               + (f" after {patience} s" if status < 0 else ""))
        return json.loads(line)

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self, patience=30):
        """Waits for its end: its workers may still finish what is left."""
        timer = threading.Timer(patience, self.process.kill)
        timer.start()
        self.process.wait()
        timer.cancel()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def queue_load(program, nodes, workload, environment=None, **numbers):
    """`foliot-bench queue` with these options: rate=50 is `--rate 50`, both=True is `--both`."""
    words = [f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}") for name, value in numbers.items()
             if value is not None and value is not False]
    where = [] if nodes is None else [f"--nodes={addresses(nodes)}"]
    return LineProgram(Path(program).with_name("foliot-bench"), "queue", f"--workload={workload}", *where, *words,
                       environment=environment)


# ---------------------------------------------------------------- figures

def rate_of(jobs, seconds):
    """Jobs a second: a span may be shorter than the four places of its seconds show."""
    return jobs / max(seconds, 1e-4)


class Report:
    """Lines of figures, each of which is printed when it is there. `columns` are names with formats; a format is for
    format(), and its width is that of the head as well."""

    def __init__(self, **columns):
        self.columns = columns
        self.rows = []

    def head(self, **named):
        """Prints the names, or what `named` has for them."""
        self._print({name: named.get(name, name) for name in self.columns}, lambda pattern: pattern.split(".")[0].rstrip("d%,"))

    def add(self, **figures):
        self.rows.append(figures)
        self._print(figures, lambda pattern: pattern)

    def _print(self, figures, pattern_of):
        cells = [format(figures[name], pattern_of(pattern)) if figures.get(name) is not None else
                 format("-", pattern.split(".")[0].rstrip("d%,")) for name, pattern in self.columns.items()]
        print("".join(cells).rstrip(), flush=True)


def write_json(path, value):
    """Where --json was given."""
    if path:
        path.write_text(json.dumps(value, indent=1) + "\n")
