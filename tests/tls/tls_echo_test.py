#!/usr/bin/env python3
"""The example tls_echo with itself, and each of its sides with the program `openssl`, in both versions of TLS.

usage: tls_echo_test.py --echo PROGRAM --openssl PROGRAM
"""
import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VERSIONS = ["-tls1_2", "-tls1_3"]


@contextmanager
def running(*command: object) -> Iterator[subprocess.Popen]:
    """A program with pipes; killed at the end."""
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, bufsize=1)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def line_with(process: subprocess.Popen, beginning: str) -> str:
    """The rest of the first line that begins so."""
    seen = []
    for line in process.stdout:
        if line.startswith(beginning):
            return line.removeprefix(beginning).strip()
        seen.append(line)
    sys.exit(f"no line begins with {beginning!r} in:\n{''.join(seen)}")


def expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        sys.exit(f"{what}: {found!r}, and not {wanted!r}")


def make_certificate(openssl: str, folder: Path, name: str) -> tuple[Path, Path]:
    chain, key = folder / f"{name}.pem", folder / f"{name}-key.pem"
    subprocess.run([openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "30", "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", key, "-out", chain], check=True, capture_output=True)
    return chain, key


def ask(echo: str, address: str, roots: Path, text: str) -> tuple[int, str, str]:
    done = subprocess.run([echo, "ask", address, roots, text], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def check_server(echo: str, openssl: str, folder: Path) -> None:
    chain, key = make_certificate(openssl, folder, "echo")
    other, _ = make_certificate(openssl, folder, "other")
    with running(echo, "serve", chain, key) as server:
        address = line_with(server, "listening at ")
        expect("the example's client", ask(echo, address, chain, "hello"), (0, "hello\n", ""))
        expect("a client that trusts another server", ask(echo, address, other, "hello")[0::2],
               (1, "certificate verify failed: self-signed certificate\n"))
        for version in VERSIONS:
            # A line that begins with K or k renews the keys, of both sides or of the client.
            with running(openssl, "s_client", "-connect", address, "-servername", "localhost", "-verify_hostname",
                         "localhost", "-CAfile", chain, "-verify_return_error", version) as client:
                client.stdin.write("hello from s_client\n")
                expect(version, line_with(client, "hello"), "from s_client")
                if version == "-tls1_3":
                    for command in "Kk":
                        client.stdin.write(command + "\n")
                        line_with(client, "KEYUPDATE")
                        client.stdin.write(f"once more {command}\n")
                        expect(version, line_with(client, "once more"), command)
                client.stdin.close()
                expect("the end of s_client", client.wait(), 0)


def check_client(echo: str, openssl: str, folder: Path) -> None:
    chain, key = make_certificate(openssl, folder, "reversing")
    for version in VERSIONS:
        with running(openssl, "s_server", "-accept", "127.0.0.1:0", "-cert", chain, "-key", key, "-rev",
                     version) as server:
            address = line_with(server, "ACCEPT ")
            # Whether s_server closes with a word to the client, or without one, is its own affair.
            expect(version, ask(echo, address, chain, "desserts\n")[1:], ("stressed\n\n", ""))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--echo", required=True)
    parser.add_argument("--openssl", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check_server(options.echo, options.openssl, Path(folder))
        check_client(options.echo, options.openssl, Path(folder))


if __name__ == "__main__":
    main()
