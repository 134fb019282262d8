#!/usr/bin/env python3
"""Tries the Debian packages of foliot in a Debian of their own, and a program that is compiled with them.

usage: PYTHONPATH=tests/support scripts/lib/try_packages.py ROOT FOLDER

ROOT is the checkout, FOLDER has the packages. Needs root, mmdebstrap and a network. The system is made in FOLDER/system, and is
taken away behind a run in which all is well. Its servers run as the user of the unit, with its command; systemd does not run in
it. Prints a line for each step; exit status 1 at the first thing that is not as it should be.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from kit import beanstalk_client

BEGIN = time.monotonic()
DYNAMIC_USER = 61999  # one of those that systemd gives
LIBRARIES = ["libfoliot0.1", "libfoliot-jobs-embedded0.1", "libfoliot-jobs-postgresql0.1", "libfoliot-tls0.1"]
DATA = "/var/lib/foliot"
PRIVATE = "/var/lib/private/foliot"
THEIR_UNIT = "/etc/systemd/system/foliot.service"
JOB = b"kept through it all"


def say(text: str) -> None:
    print(f"{time.monotonic() - BEGIN:6.0f} s  {text}", flush=True)


def expect(holds: object, text: str) -> None:
    if not holds:
        sys.exit(f"not so: {text}")


def run(*command: object, **options) -> str:
    """What the command has written; it must succeed."""
    done = subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))} failed ({done.returncode}):\n{done.stdout}")
    return done.stdout


class System:
    """A minimal Debian 12, in a folder."""

    def __init__(self, folder: Path):
        self.root = folder
        run("mmdebstrap", "--variant=apt", "--mode=root", "bookworm", folder)
        shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
        policy = folder / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        self.run("apt-get", "update")

    def command(self, *words: object) -> list[str]:
        """With mounts of its own, which end with it, in the same process."""
        inner = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
        return ["unshare", "--mount", "sh", "-c", inner, str(self.root), "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", *map(str, words)]

    def run(self, *words: object) -> str:
        return run(*self.command(*words))

    def install(self, packages: list[Path]) -> str:
        place = self.root / "packages"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for each in packages:
            shutil.copy(each, place)
        return self.run("apt-get", "install", "-y", "--no-install-recommends", *(f"/packages/{each.name}" for each in packages))

    def path(self, name: str) -> Path:
        return self.root / name.lstrip("/")

    def user(self) -> tuple[int, int]:
        line = re.search(r"^_foliot:[^:]*:(\d+):(\d+):", self.path("/etc/passwd").read_text(), re.M)
        expect(line, "the user _foliot is in /etc/passwd")
        return int(line[1]), int(line[2])

    def expect_owned(self, folder: str) -> None:
        for each in [self.path(folder), *self.path(folder).rglob("*")]:
            expect((each.lstat().st_uid, each.lstat().st_gid) == self.user(), f"{each} is the user's of the package")
        expect(self.path(folder).stat().st_mode & 0o777 == 0o700, f"nobody else reads {folder}")


class Service:
    """The server as the unit starts it, but at a port of its own."""

    def __init__(self, system: System):
        unit = system.path("/lib/systemd/system/foliot.service").read_text()
        command = shlex.split(re.search(r"^ExecStart=(.*)$", unit, re.M)[1])
        user = re.search(r"^User=(.*)$", unit, re.M)[1]
        group = re.search(r"^Group=(.*)$", unit, re.M)[1]
        self.server = beanstalk_client.Server(lambda port: system.command(
            "setpriv", "--reuid", user, "--regid", group, "--clear-groups", "--no-new-privs", "--bounding-set=-all", *command,
            "--beanstalk", f"127.0.0.1:{port}", "--http", "off"))

    def __enter__(self):
        return self.server.connect()

    def __exit__(self, *_):
        code, log = self.server.stop()
        expect(code == 0, f"the server ends well:\n{log}")


def put_job(system: System) -> None:
    with Service(system) as connection:
        answer = connection.ask(b"put 0 100000 60 %d\r\n%s\r\n" % (len(JOB), JOB))
        expect(answer == b"INSERTED 1\r\n", f"the job is put: {answer}")


def expect_job(system: System, when: str) -> None:
    with Service(system) as connection:
        answer = connection.ask(b"peek 1\r\n")
        expect(answer == b"FOUND 1 %d\r\n%s\r\n" % (len(JOB), JOB), f"the job is there {when}: {answer}")
    say(f"the job is there {when}")


def next_version(packages: list[Path], folder: Path) -> list[Path]:
    """The same packages, as if they were of the next version."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    made = []
    for each in packages:
        tree = folder / each.stem
        run("dpkg-deb", "-R", each, tree)
        control = tree / "DEBIAN/control"
        text = control.read_text()
        version = re.search(r"^Version: (.*)$", text, re.M)[1]
        control.write_text(text.replace(f"Version: {version}\n", f"Version: {version}+next\n")
                           .replace(f"(= {version})", f"(= {version}+next)"))
        made.append(folder / each.name.replace(version, f"{version}+next"))
        run("dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, made[-1])
    return made


def try_life(system: System, packages: list[Path], later: list[Path]) -> None:
    """Installed, upgraded, removed, installed again, purged."""
    system.install(packages)
    say(f"installed: {' '.join(each.name for each in packages)}")
    version = system.run("foliot", "--version", "--verbose")
    expect(re.search(r"^stores: memory, RocksDB \S+, libpq .*\nTLS: OpenSSL ", version, re.M), f"all is built in:\n{version}")
    expect("-prefix-map" not in version, f"the program does not say where it was built:\n{version}")
    for line in re.findall(r"^  (\w+) ", system.run("foliot", "--help").partition("Subcommands:")[2], re.M):
        expect(f".B {line}\n" in Path(sys.argv[1], "debian/foliot.1").read_text(), f"the manual page has foliot {line}")
    expect("Usage: foliot job" in system.run("foliot", "job", "--help"), "foliot job starts")
    completion = system.path("/usr/share/bash-completion/completions/foliot").read_text()
    expect(completion == system.run("foliot", "completion", "bash"), "the completion is that of the program")
    system.expect_owned(DATA)
    put_job(system)
    system.expect_owned(DATA)
    system.install(later)
    expect("+next" in system.run("dpkg-query", "-W", "-f", "${Version}", "foliot"), "it is the next version")
    expect_job(system, "after the upgrade")
    system.run("apt-get", "remove", "-y", "foliot")
    expect(not system.path("/usr/bin/foliot").exists(), "the program is gone")
    expect(system.path(DATA).is_dir(), "the jobs stay when the package is removed")
    system.install(later)
    expect_job(system, "when it is installed again")


def try_dynamic_user(system: System, packages: list[Path]) -> None:
    """The folder of the unit that foliot's sources have: systemd keeps it elsewhere, for a user without a line in /etc/passwd."""
    data, private, unit = system.path(DATA), system.path(PRIVATE), system.path(THEIR_UNIT)
    private.parent.mkdir(mode=0o700, exist_ok=True)
    kept = system.path("/kept")
    data.rename(kept)
    system.run("apt-get", "purge", "-y", "foliot")
    expect(not os.path.lexists(data), "a purge takes the folder away")

    def as_dynamic():
        shutil.copytree(kept, private)
        run("chown", "-R", f"{DYNAMIC_USER}:{DYNAMIC_USER}", private)
        data.symlink_to("private/foliot")

    as_dynamic()
    shutil.copy(Path(sys.argv[1], "packaging/systemd/foliot.service"), unit)
    said = system.install(packages)
    expect(f"{THEIR_UNIT} goes before the unit" in said, f"the package says that their unit comes first:\n{said}")
    expect(data.is_symlink() and private.stat().st_uid == DYNAMIC_USER, "where their unit is, its data stay as they are")
    system.run("apt-get", "purge", "-y", "foliot")
    expect((private / "CURRENT").exists() or any(private.iterdir()), "a purge leaves what the package has not made")
    say("the data of a service by their own unit stay as they are, also when the package is purged")
    unit.unlink()
    said = system.install(packages)
    expect(f"they are in {DATA} now" in said, f"the package says where the jobs are:\n{said}")
    expect(not data.is_symlink() and not private.exists(), f"the jobs are in {DATA}")
    system.expect_owned(DATA)
    expect_job(system, "that a service with a dynamic user has kept")
    shutil.copytree(kept, private)
    said = system.run("dpkg-reconfigure", "foliot")
    expect(f"there are jobs in {DATA}, and also in {PRIVATE}" in said, f"two folders are told:\n{said}")
    expect_job(system, "beside another folder, which stays")
    shutil.rmtree(private)


def try_purge(system: System) -> None:
    expect(not system.path("/etc/foliot").exists(), "there are no settings")
    system.run("apt-get", "purge", "-y", "foliot", *LIBRARIES)
    expect(not os.path.lexists(system.path(DATA)), "the jobs go with a purge")
    found = [each for each in ["usr", "etc", "lib", "var/lib/systemd"] for each in system.path(each).rglob("*foliot*")]
    expect(not found, f"nothing is left: {found}")
    say("purged: nothing is left but the user")


def try_units(system: System, folder: Path) -> None:
    """systemd understands the units of the package."""
    if shutil.which("systemd-analyze") is None:
        say("without systemd-analyze the units are not looked at")
        return
    for name, called in [("foliot.service", "foliot.service"), ("foliot-node@.service", "foliot-node@11300.service")]:
        text = system.path(f"/lib/systemd/system/{name}").read_text()
        expect("User=_foliot\n" in text and "DynamicUser" not in text, f"{name} has the user of the package")
        copy = folder / called
        copy.write_text(text.replace("/usr/bin/foliot", "/bin/true"))
        done = subprocess.run(["systemd-analyze", "verify", copy], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        found = [line for line in (done.stdout + done.stderr).splitlines() if called.partition(".")[0] in line]
        expect(not found, f"systemd understands {name}: {found}")
        closed = run("systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold=20", copy)
        say(f"{name}: exposure level {re.search(r': ([0-9.]+) ', closed.strip().splitlines()[-1])[1]}")


def try_development(packages: dict[str, Path], folder: Path) -> None:
    """Programs in C++ and in C are compiled and linked with the development files, by CMake and by pkg-config."""
    place = folder / "development"
    shutil.rmtree(place, ignore_errors=True)
    for name in [*LIBRARIES, "libfoliot-dev"]:
        run("dpkg-deb", "-x", packages[name], place)
    source = Path(sys.argv[1], "tests/package/consumer")
    libraries = next((place / "usr/lib").glob("*/libfoliot_core.so")).parent
    environment = os.environ | {"LD_LIBRARY_PATH": str(libraries), "PKG_CONFIG_PATH": str(libraries / "pkgconfig")}
    run("cmake", "-S", source, "-B", place / "build", "-G", "Ninja", "-DWAY=find_package", "-DWANTED_COMPONENTS=service tls",
        "-DWANTED_VERSION=0.1", f"-DCMAKE_PREFIX_PATH={place}/usr", "-DCMAKE_BUILD_TYPE=Release", "-DCONSUMER_WARNINGS=-Wall",
        f"-DFOLIOT_CHECK_COROUTINES={place}/usr/bin/foliot-check-coroutines")
    run("cmake", "--build", place / "build", "--target", "consumer", "consumer_tls")
    for program in ["consumer", "consumer_tls"]:
        expect("works" in run(place / "build" / program, env=environment), f"{program} works")
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "foliot", env=environment))
    run("cc", "-std=c11", source / "main.c", *flags, "-o", place / "in_c", env=environment)
    expect("works" in run(place / "in_c", env=environment), "the program in C works")
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "foliot_jobs_embedded", env=environment))
    run("c++", "-std=c++23", source / "embedded.cpp", *flags, "-o", place / "embedded", env=environment)
    expect("works" in run(place / "embedded", place / "jobs", env=environment), "the program with a store on disk works")
    shutil.rmtree(place)
    say("programs in C++ and C work with the development files, by CMake and by pkg-config")


def main() -> int:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder = Path(sys.argv[2]).resolve()
    packages = {each.name.partition("_")[0]: each for each in sorted(folder.glob("*.deb"))}
    wanted = [packages[name] for name in [*LIBRARIES, "foliot"]]
    try_development(packages, folder)
    shutil.rmtree(folder / "system", ignore_errors=True)
    system = System(folder / "system")
    say("there is a Debian 12 of their own")
    later = next_version(wanted, folder / "next")
    try_life(system, wanted, later)
    try_units(system, folder)
    try_dynamic_user(system, later)
    try_purge(system)
    shutil.rmtree(folder / "system")
    shutil.rmtree(folder / "next")
    say("all is well")
    return 0


if __name__ == "__main__":
    sys.exit(main())
