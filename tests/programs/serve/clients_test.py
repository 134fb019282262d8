"""Unmodified clients of beanstalkd, in five languages, work against the server. For each client there is a program in
clients/, which prints the server's answers as JSON lines; all programs print the same lines. A client that is not
installed, and cannot be downloaded, is skipped.

    work PORT alone      one producer and two workers in one process: priorities, release, bury, kick, touch, several
                         tubes, a delay, statistics, large and binary bodies; and a new connection after the server was
                         restarted, for which the program prints ["restart"] and reads the new port from standard input
    work PORT producer   puts 200 jobs into the tube `many`, and then two jobs `end` of lower priority
    work PORT worker     reserves, prints and deletes jobs of `many` until it has got an `end`"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from downloads import PATIENCE, downloaded, need, of_npm, of_pip, try_to_run
from kit import beanstalk_client
from kit.program_case import ProgramCase, main

PROGRAMS = Path(__file__).resolve().parent / "clients"
LONGEST = 65536
BINARY = bytes(range(256)) * 256
TEXT = "é\r\n\0".encode() * 13107 + b"x"

# The lines of `work PORT alone` before the server is restarted, and after that.
BEFORE = [
    ["first", "high"], ["second", "middle"], ["released", "high"], ["counts", 1, 1, 1], ["kicked", 1],
    ["kicked", "high", 7], ["last", "low"], ["other", "elsewhere", "other"], ["late", "late", True],
    ["text", LONGEST, hashlib.md5(TEXT).hexdigest()], ["too big"],
    ["given", LONGEST, hashlib.md5(BINARY).hexdigest()], ["restart"],
]
AFTER = [["kept", "kept"], ["kept", "kept and late"], ["left", 0, 0, 0, 0]]


class Client:
    """The tests of each client. The classes below add `command`, which runs the client's program."""
    puts_bytes = True  # whether the client can put a body that is not text
    environment = {}

    def start_program(self, server, role):
        process = subprocess.Popen([*self.command, str(server.address[1]), role], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, encoding="utf-8", cwd=self.here,
                                   env=os.environ | self.environment)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.stdout.close)
        return process

    def start_server(self):
        beanstalk_client.need_space(self, self.here)
        server = beanstalk_client.foliot("--data", self.here / "jobs", "--max-job-size", LONGEST)
        self.addCleanup(server.process.wait)
        self.addCleanup(server.process.kill)
        return server

    def end_server(self, server):
        self.assertEqual(server.stop(), (0, ""))

    def expect_end(self, process):
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_one_program_with_three_connections_and_a_restart(self):
        server = self.start_server()
        connection = server.connect()
        connection.ask(b"use given\r\n")
        connection.ask(b"put 0 0 600 %d\r\n%s\r\n" % (len(BINARY), BINARY))
        program = self.start_program(server, "alone")
        for expected in BEFORE:
            self.assertEqual(json.loads(program.stdout.readline() or "null"), expected)
        if self.puts_bytes:
            connection.ask(b"watch back\r\n")
            head, body = connection.ask(b"reserve-with-timeout 0\r\n").split(b"\r\n", 1)
            self.assertEqual(body, BINARY + b"\r\n")
            self.assertEqual(connection.ask(b"delete %s\r\n" % head.split()[1]), b"DELETED\r\n")
        connection.close()
        self.end_server(server)
        server = self.start_server()
        program.stdin.write(f"{server.address[1]}\n")
        program.stdin.flush()
        self.assertEqual([json.loads(line) for line in program.stdout], AFTER)
        self.expect_end(program)
        self.end_server(server)

    def test_a_producer_and_two_workers(self):
        server = self.start_server()
        workers = [self.start_program(server, "worker") for _ in range(2)]
        producer = self.start_program(server, "producer")
        self.expect_end(producer)
        got = []
        for each in workers:
            got += [json.loads(line)[1] for line in each.stdout]
            self.expect_end(each)
        self.assertEqual(sorted(got), sorted([f"job {number}" for number in range(200)] + 2 * ["end"]))
        self.end_server(server)


class Ruby(Client, ProgramCase):
    """Debian's ruby-beaneater."""

    @classmethod
    def setUpClass(cls):
        ruby = need("ruby")
        try_to_run(ruby, "-e", "require 'beaneater'")
        cls.command = [ruby, "-E", "UTF-8", PROGRAMS / "work.rb"]


class Php(Client, ProgramCase):
    """Debian's php-pda-pheanstalk."""

    @classmethod
    def setUpClass(cls):
        php = need("php")
        try_to_run(php, "-r", "require 'Pheanstalk/autoload.php';")
        cls.command = [php, PROGRAMS / "work.php"]


class Python(Client, ProgramCase):
    """greenstalk, of PyPI."""

    @classmethod
    def setUpClass(cls):
        folder = of_pip("python", "greenstalk==2.1.1")
        cls.command = [sys.executable, PROGRAMS / "work.py"]
        cls.environment = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


class Go(Client, ProgramCase):
    """github.com/beanstalkd/go-beanstalk."""

    @classmethod
    def setUpClass(cls):
        go = need("go")
        folder = downloaded("go", lambda to: (to / "go.mod").write_text("module example.org/work\n\ngo 1.18\n"))
        shutil.copy(PROGRAMS / "work.go", folder / "main.go")
        try_to_run(go, "get", "github.com/beanstalkd/go-beanstalk@v0.2.0", cwd=folder)
        subprocess.run([go, "build", "-o", "work", "."], check=True, cwd=folder)
        cls.command = [folder / "work"]


class Node(Client, ProgramCase):
    """jackd, of npm."""
    puts_bytes = False

    @classmethod
    def setUpClass(cls):
        node = need("node")
        folder = of_npm("node", "jackd@2.2.2")
        shutil.copy(PROGRAMS / "work.mjs", folder / "work.mjs")
        cls.command = [node, folder / "work.mjs"]


if __name__ == "__main__":
    main()
