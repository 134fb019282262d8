#!/usr/bin/env python3
"""Runs the gateway and what presses on it: the silent ones are hung up on and nobody else, a client that is killed
leaves nothing behind, a signal ends it. How fast all that is does not matter here."""
import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

GATEWAY = LOAD = ""
PATIENCE = 120  # seconds: against a hang, not a measure
SCALES = (1, 4, 16, 16, 16)  # the times of one try after the other: the first is enough where the machine is not busy


class Gateway:
    def __init__(self, *arguments: str):
        self.process = subprocess.Popen([GATEWAY, "--listen", "127.0.0.1:0", *arguments],
                                        stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.startswith("listening on "):
                self.address = line.split()[-1]
                break

    def next_counters(self) -> dict[str, int]:
        for line in self.process.stdout:
            if line.startswith("connections "):
                return {name: int(number) for name, number in re.findall(r"(\w+) (\d+)", line)}
        raise AssertionError("the gateway has ended")

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def end(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGTERM)
        rest, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, rest


class GatewayTest(unittest.TestCase):
    def start(self, *arguments: str) -> Gateway:
        gateway = Gateway(*arguments)
        self.addCleanup(gateway.process.stdout.close)
        self.addCleanup(gateway.process.wait)
        self.addCleanup(gateway.process.kill)
        return gateway

    def test_hangs_up_on_exactly_the_silent(self):
        for scale in SCALES:  # a program that gets no processor for so long is silent too, or hangs up late
            gateway = self.start("--silence", str(500 * scale))
            load = subprocess.run([LOAD, "--connect", gateway.address, "--connections", "200", "--silent", "40",
                                   "--beat", str(100 * scale), "--silence", str(500 * scale),
                                   "--run", str(2000 * scale)],
                                  capture_output=True, text=True, timeout=PATIENCE)
            status, rest = gateway.end()
            self.assertEqual(status, 0)
            exactly = (load.returncode == 0 and "hung up on early   0\n" in load.stdout
                       and "fell silent        40, and 40 of them were hung up on" in load.stdout
                       and re.search(r"accepted 200 lines \d+ broadcasts [1-9]\d* ", rest))
            if exactly:
                break
        self.assertTrue(exactly, load.stdout + load.stderr + rest)

    def test_a_client_that_drips_bytes_without_a_line_is_hung_up_on(self):
        wanted = "accepted 1 lines 1 broadcasts 1 silent 1 left 0 failed 0 "
        for scale in SCALES:  # a gateway that gets no processor for so long may hang up before it reads the line
            gateway = self.start("--silence", str(500 * scale))
            host, port = gateway.address.split(":")
            with socket.create_connection((host, int(port)), timeout=PATIENCE) as drips:
                self.drip(drips, 0.01 * scale)
            status, rest = gateway.end()
            self.assertEqual(status, 0)
            if wanted in rest:
                break
        self.assertIn(wanted, rest)

    @staticmethod
    def drip(client, pause):
        """Sends a line, then a byte at a time without an end of the line, until the gateway hangs up."""
        try:
            client.sendall(b"all hello\n")
            client.settimeout(pause)
            until = time.monotonic() + PATIENCE
            while time.monotonic() < until:
                client.send(b"x")
                try:
                    if client.recv(10) == b"":
                        return
                except TimeoutError:
                    pass
        except ConnectionError:
            pass

    def test_what_presses_finds_a_gateway_that_hangs_up_early_or_never(self):
        for said, asked in (("200", "3600000"), ("86400000", "100")):
            gateway = self.start("--silence", said)
            command = [LOAD, "--connect", gateway.address, "--connections", "10", "--silent", "5", "--beat", "50",
                       "--silence", asked, "--run", "500", "--patience", "1000"]
            load = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(load.returncode, 1, load.stdout + load.stderr)
            self.assertIn("NOT as it must be", load.stdout)
            gateway.end()

    def test_clients_that_are_killed_leave_nothing_behind(self):
        gateway = self.start("--silence", "3600000", "--counters", "1")
        gateway.next_counters()  # a line a second later: what only the start needs is closed by then
        before = gateway.descriptors()
        load = subprocess.Popen([LOAD, "--connect", gateway.address, "--connections", "200", "--silent", "0",
                                 "--run", "3600000"], stdout=subprocess.DEVNULL)
        while gateway.next_counters()["connections"] != 200:
            pass
        self.assertEqual(gateway.descriptors(), before + 200)
        load.kill()
        load.wait()
        while gateway.next_counters()["connections"] != 0:
            pass
        while gateway.descriptors() != before:  # the last one is closed after it is no longer counted
            time.sleep(0.01)
        self.assertEqual(gateway.end()[0], 0)

    def test_a_signal_ends_it_though_clients_stay(self):
        gateway = self.start("--silence", "3600000", "--counters", "1")
        load = subprocess.Popen([LOAD, "--connect", gateway.address, "--connections", "10", "--silent", "0",
                                 "--run", "3600000"], stdout=subprocess.DEVNULL)
        self.addCleanup(load.wait)
        self.addCleanup(load.kill)
        while gateway.next_counters()["connections"] != 10:
            pass
        self.assertEqual(gateway.end()[0], 0)

    def test_what_is_wrong_is_said(self):
        def answer(program: str, *arguments: str) -> str:
            done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=PATIENCE)
            self.assertNotEqual(done.returncode, 0)
            return done.stderr
        self.assertIn("not an address: 'localhost:1'", answer(GATEWAY, "--listen", "localhost:1"))
        self.assertIn("--silence takes a number", answer(GATEWAY, "--silence", "soon"))
        self.assertIn("no such option: --fast", answer(GATEWAY, "--fast", "1"))
        self.assertIn("the option --listen needs a value", answer(GATEWAY, "--listen"))
        self.assertIn("--connections takes a number", answer(LOAD, "--connections", "0"))
        self.assertIn("usage: gateway_load", answer(LOAD, "--what", "1"))
        gateway = self.start()
        self.assertIn(f"cannot listen on {gateway.address}", answer(GATEWAY, "--listen", gateway.address))
        gateway.end()
        with socket.socket() as held:  # no program listens at this port, and no other program can get it
            held.bind(("127.0.0.1", 0))
            nowhere = f"127.0.0.1:{held.getsockname()[1]}"
            self.assertIn("cannot connect", answer(LOAD, "--connect", nowhere, "--connections", "1", "--silent", "0"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--gateway", required=True)
    parser.add_argument("--load", required=True)
    given, rest = parser.parse_known_args()
    GATEWAY, LOAD = given.gateway, given.load
    unittest.main(argv=sys.argv[:1] + rest)
