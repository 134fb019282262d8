"""bench/harness.py neither waits for a program that has ended, nor leaves one behind."""
import subprocess
import tempfile
import unittest
from unittest import mock

import harness
from kit.program_case import main


def script(text):
    """A command, which takes further arguments."""
    return ["sh", "-c", text, "sh"]


class Harness(unittest.TestCase):
    def refused(self, command, path=None):
        """Why there is no server, and the processes that have been tried."""
        processes, answers = [], harness.answers

        def seen(where, process):
            processes.append(process)
            return answers(where, process)

        with mock.patch("harness.answers", seen), self.assertRaises(RuntimeError) as raised:
            harness.start(command, path)
        self.assertIsNotNone(processes[-1].returncode)
        return str(raised.exception), processes

    def test_a_server_that_ends(self):
        said, processes = self.refused(script("exit 3"))
        self.assertIn("ended with the status 3", said)
        self.assertEqual(len(processes), harness.ATTEMPTS)  # each with another port
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(len(self.refused(script("exit 3"), f"{folder}/socket")[1]), 1)

    def test_a_server_that_does_not_answer(self):
        with mock.patch("harness.PATIENCE", 0):
            said, (process,) = self.refused(script("exec sleep 3600"))
        self.assertIn("does not answer within 0 s", said)
        self.assertLess(process.returncode, 0)

    def test_a_user_who_does_not_wait_for_the_server(self):
        left = []

        def interrupted(_, process):
            left.append(process)
            raise KeyboardInterrupt

        with mock.patch("harness.answers", interrupted), self.assertRaises(KeyboardInterrupt):
            harness.start(script("exec sleep 3600"))
        self.assertLess(left[0].returncode, 0)

    def test_a_session_that_ends(self):
        with subprocess.Popen(script("read line; echo $line"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session, \
                self.assertRaisesRegex(RuntimeError, "psql has ended"):
            harness.ask(session, "SELECT 1;")

    def test_a_session_that_answers(self):
        with subprocess.Popen(["sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
            harness.ask(session, "true")


if __name__ == "__main__":
    main()
