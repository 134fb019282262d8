"""`foliot completion`: the scripts, as bash, zsh and fish run them."""
import re
import shlex
import shutil
import subprocess

from kit.beanstalk_client import PATIENCE
from kit.program_case import ProgramCase, main

COMMANDS = ("serve", "job", "token", "copy", "map", "replay", "sample", "explain", "bench", "top", "completion")


class CompletionCase(ProgramCase):
    shell = None

    def setUp(self):
        super().setUp()
        if shutil.which(self.shell) is None:
            self.skipTest(f"{self.shell} is not installed (Debian: {self.shell})")
        self.put("script", self.expect_done("completion", self.shell).encode())

    def run_shell(self, *arguments):
        done = subprocess.run([self.shell, *arguments], cwd=self.here, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))
        return done.stdout.decode()

    def complete(self, line):
        """What the last word of the line may be."""
        raise NotImplementedError

    def options_of(self, *path):
        """Those that the help of a command has."""
        return set(re.findall(r"(?:^  |, )(--[a-z][a-z0-9-]*)", self.expect_done(*path, "--help"), re.M))


class Cases:
    """What each shell must do."""

    def test_commands(self):
        self.assertLessEqual(set(COMMANDS), set(self.complete("foliot ")))
        self.assertEqual(self.complete("foliot ser"), ["serve"])
        self.assertEqual(set(self.complete("foliot token ")), {"make", "list", "revoke"})
        self.assertLessEqual({"put", "get", "list", "why", "cancel", "move", "fire", "kick", "reserve", "watch", "next", "schedules", "schedule",
                              "policies", "policy", "webhooks", "webhook"},
                             set(self.complete("foliot job ")))
        self.assertEqual(self.complete("foliot job can"), ["cancel"])

    def test_each_option_of_the_help(self):
        for path in [("serve",), ("token", "make"), ("top",), ("copy",), ("job", "put"), ("job", "list"), ("job", "cancel"),
                     ("job", "watch"), ("job", "next"), ("job", "schedules"), ("job", "schedule"), ("job", "policies"), ("job", "policy"),
                     ("job", "webhooks"), ("job", "webhook")]:
            wanted = self.options_of(*path)
            self.assertGreater(len(wanted), 1, path)
            self.assertLessEqual(wanted, set(self.complete(f"foliot {' '.join(path)} --")), path)

    def test_values(self):
        self.assertEqual(sorted(self.complete("foliot job put mail --existing ")), ["keep", "refuse", "replace"])
        self.assertEqual(sorted(self.complete("foliot job put mail --existing re")), ["refuse", "replace"])
        self.assertEqual(sorted(self.complete("foliot job list --state ")), ["buried", "delayed", "ready", "reserved"])
        self.assertEqual(sorted(self.complete("foliot job next --gap ")), ["shift", "skip"])
        self.assertNotIn("get", self.complete("foliot job put mail --key get "))

    def test_the_value_of_an_option_is_no_command(self):
        self.assertEqual(self.complete("foliot job list --prefix put --sta"), ["--state"])

    def test_files(self):
        self.put("tokens", b"")
        self.assertIn("tokens", self.complete("foliot token list tok"))
        self.assertIn("tokens", self.complete("foliot job list --token-file tok"))


class Bash(Cases, CompletionCase):
    shell = "bash"

    def complete(self, line):
        words = line.split(" ")
        array = " ".join(shlex.quote(word) for word in words)
        return self.run_shell("--norc", "-c", f"set -eu; source ./script; set +eu; COMP_WORDS=({array}); "
                              f"COMP_CWORD={len(words) - 1}; _foliot; printf '%s\\n' \"${{COMPREPLY[@]}}\"").split()

    def test_a_value_behind_an_equals_sign(self):
        """bash makes three words of --state=re."""
        self.assertEqual(sorted(self.complete("foliot job list --state = re")), ["ready", "reserved"])
        self.assertEqual(sorted(self.complete("foliot job list --state =")), ["buried", "delayed", "ready", "reserved"])
        self.assertEqual(self.complete("foliot job list --prefix = put --sta"), ["--state"])


class Zsh(Cases, CompletionCase):
    """Without its line editor, for which these functions stand."""
    shell = "zsh"

    def complete(self, line):
        words = line.split(" ")
        array = " ".join(shlex.quote(word) for word in words)
        stand_ins = """
compdef() { : }
show() { local each; for each; do [[ $each == "$current"* ]] && print -r -- $each; done; true }
compadd() { [[ $1 == -- ]] && shift; show "$@" }
_describe() { [[ $1 == -o ]] && shift; show ${${(P)2}%%:*} }
_files() { local -a all; all=(*(N)); show $all }
"""
        return self.run_shell("-f", "-c", f"{stand_ins}\nsource ./script; words=({array}); CURRENT={len(words)}; _foliot").split()


class Fish(Cases, CompletionCase):
    shell = "fish"

    def complete(self, line):
        shown = self.run_shell("--no-config", "-c", f"source script; complete -C {shlex.quote(line)}")
        return [each.split("\t")[0] for each in shown.splitlines()]


class AnyShell(ProgramCase):
    def test_wrong_arguments(self):
        self.expect_error("foliot completion has no 'tcsh'", "completion", "tcsh")
        self.expect_error("A subcommand is required", "completion")


if __name__ == "__main__":
    main()
