"""A PostgreSQL server and its synchronous standby, which Patroni looks after, and the etcd that Patroni needs.

Each of the three has an address of its own on the loopback interface, as machines would have, and a folder of its own in
one temporary folder. All of it ends with the program, also if that is killed."""
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

PATRONI = "/usr/bin/patroni"
ETCD = "/usr/bin/etcd"
PATIENCE = 300  # seconds, for what must come
# In seconds. Patroni demands loop_wait + 2 * retry_timeout <= ttl. On a machine that stands still for longer than
# retry_timeout, the members may change their roles: a test has to bear that.
TTL, LOOP_WAIT, RETRY_TIMEOUT = 10, 1, 4
WORKING = ("running", "streaming")  # a standby "runs" for Patroni before 3.0.4
# Not in the range from which Linux takes the ports of outgoing connections.
PORTS = range(20000, 30000)


def programs_of_postgresql():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def is_installed():
    python_etcd = Path("/usr/lib/python3/dist-packages/etcd")
    return programs_of_postgresql() is not None and all(Path(each).exists() for each in [PATRONI, ETCD, python_etcd])


def start(command, folder):
    """Starts a program in this folder, with a log there. PostgreSQL refuses to run as root: then it, and all others here,
    run as the user postgres."""
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups", "--", *command]
    with (folder / "log").open("ab") as log:
        # In a session of its own, Ctrl-C does not end it.
        return subprocess.Popen(list(map(str, command)), cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                start_new_session=True,
                                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(folder)})


def processes_of(folder):
    """The processes whose command line names the folder, and all that they have started; parents first."""
    children, found = {}, []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
            if f"{folder}/".encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:  # it has ended
            continue
        children.setdefault(parent, []).append(int(entry.name))
    for each in found:  # which grows meanwhile
        found += [child for child in children.get(each, []) if child not in found]
    return found


def name_of(process):
    try:
        return Path(f"/proc/{process}/comm").read_bytes().strip()
    except OSError:  # it has ended
        return b""


def send(number, processes):
    for process in processes:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            pass


def stop_all(folder):
    """Stops all processes of the folder, and returns them: when none is new, nothing runs that could start one."""
    stopped = []
    while new := [each for each in processes_of(folder) if each not in stopped]:
        send(signal.SIGSTOP, new)
        stopped += new
    return stopped


def end_all(folder):
    """Ends what works in the folder, and removes it. PostgreSQL gets the time to remove what it shares with others."""
    until = time.monotonic() + 10
    while (processes := processes_of(folder)) and time.monotonic() < until:
        servers = [process for process in processes if name_of(process) == b"postgres"]
        send(signal.SIGKILL, set(processes) - set(servers))
        send(signal.SIGQUIT, servers)
        send(signal.SIGCONT, servers)
        time.sleep(0.1)
    while folder.exists():
        send(signal.SIGKILL, stop_all(folder))
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.1)


class Member:
    """A PostgreSQL server with its Patroni: a machine."""

    def __init__(self, folder, address, ports, etcd):
        self.name, self.folder, self.address, self.ports = folder.name, folder, address, ports
        self.patroni = None
        # JSON is YAML, too.
        (folder / "patroni.yml").write_text(json.dumps({
            "scope": "jobs",
            "name": self.name,
            "restapi": {"listen": f"{address}:{ports['rest']}", "connect_address": f"{address}:{ports['rest']}"},
            # With `etcd3`, Debian 12's Patroni 3.0.2 can lose what was acknowledged: a primary that stood still for longer
            # than ttl overwrites the lock of the server that has taken its place, and that one is rewound
            # (https://github.com/patroni/patroni/pull/2689).
            "etcd": {"host": etcd},
            "bootstrap": {
                "dcs": {
                    "ttl": TTL,
                    "loop_wait": LOOP_WAIT,
                    "retry_timeout": RETRY_TIMEOUT,
                    # Only the standby that has all that was acknowledged takes the place of a lost primary. Not strict:
                    # a primary that has lost its standby works on alone. Then nothing takes its place.
                    "synchronous_mode": True,
                    "synchronous_mode_strict": False,
                    "postgresql": {
                        "use_pg_rewind": True,
                        "parameters": {"max_connections": 60, "fsync": "on", "full_page_writes": "on",
                                       "synchronous_commit": "on"},
                    },
                },
                "initdb": [{"encoding": "UTF8"}, {"auth": "trust"}, "no-sync"],
            },
            "postgresql": {
                "listen": f"{address}:{ports['postgresql']}",
                "connect_address": f"{address}:{ports['postgresql']}",
                "bin_dir": str(programs_of_postgresql()),
                "data_dir": str(folder / "data"),
                "pgpass": str(folder / "pgpass"),
                "authentication": {"superuser": {"username": "postgres"}, "replication": {"username": "replicator"}},
                "pg_hba": ["local all all trust", "host all all 127.0.0.0/8 trust", "host replication all 127.0.0.0/8 trust"],
                "parameters": {
                    "unix_socket_directories": str(folder),
                    "shared_buffers": "32MB",
                    "dynamic_shared_memory_type": "mmap",  # in the folder
                    "autovacuum_naptime": "10s",
                },
            },
            "watchdog": {"mode": "off"},
        }, indent=2))

    def start(self):
        self.patroni = start([PATRONI, self.folder / "patroni.yml"], self.folder)

    def kill(self):
        """Patroni, its PostgreSQL and all its processes, as if the machine lost its power."""
        send(signal.SIGKILL, stop_all(self.folder))
        self.patroni.wait()
        while processes_of(self.folder):
            time.sleep(0.01)
        # When a machine starts, nothing is there of the processes of before, and of the memory that they shared.
        file = self.folder / "data" / "postmaster.pid"
        lines = file.read_text().splitlines() if file.exists() else []
        if len(lines) > 6:
            subprocess.run(["ipcrm", "-m", lines[6].split()[1]], check=False, stderr=subprocess.DEVNULL)
        file.unlink(missing_ok=True)

    def hang(self):
        """Stops its processes: connections stay open, and nothing is answered."""
        stop_all(self.folder)

    def start_again(self):
        """The machine, after it was lost or hung."""
        send(signal.SIGCONT, reversed(processes_of(self.folder)))
        if self.patroni.poll() is not None:
            self.start()

    def is_primary(self):
        return self.sql("SELECT pg_is_in_recovery()") == "f"

    def ask(self, method, path, body=None):
        """The status and the text of Patroni's answer, or None for the status without one."""
        connection = http.client.HTTPConnection(self.address, self.ports["rest"], timeout=PATIENCE)
        try:
            connection.request(method, path, body and json.dumps(body))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            return None, str(error)
        finally:
            connection.close()

    def roles(self):
        """The roles of the members that run, by name, as etcd has them: leader, sync_standby or replica."""
        status, text = self.ask("GET", "/cluster")
        members = json.loads(text)["members"] if status == 200 else []
        return {member["name"]: member["role"] for member in members if member["state"] in WORKING}

    def sql(self, statement, database="postgres"):
        """What PostgreSQL answers, or None if it does not execute the statement."""
        where = ["-h", self.address, "-p", str(self.ports["postgresql"]), "-U", "postgres", "-d", database]
        done = subprocess.run([programs_of_postgresql() / "psql", "-qXAt", "-v", "ON_ERROR_STOP=1", *where, "-c", statement],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              check=False, timeout=PATIENCE)
        return done.stdout.strip() if done.returncode == 0 else None


class PatroniCluster:
    def __init__(self):
        # A process that ends the rest when this program is gone. It makes the folder, so that it knows it from the first
        # moment on.
        self.remover = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, start_new_session=True)
        self.folder = Path(self.remover.stdout.readline().strip())
        network = f"127.{random.randrange(1, 255)}.{random.randrange(255)}"
        ports = self._free_ports([f"{network}.{number}" for number in (1, 2, 3)])
        etcd = f"{network}.1:{ports['etcd']}"
        peers = f"http://{network}.1:{ports['peers']}"
        self.etcd = start([ETCD, "--name", "etcd", "--enable-v2", "--data-dir", self._new_folder("etcd") / "data",
                           "--listen-client-urls", f"http://{etcd}", "--advertise-client-urls", f"http://{etcd}",
                           "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
                           "--initial-cluster", f"etcd={peers}"], self.folder / "etcd")
        self.members = [Member(self._new_folder(name), f"{network}.{number}", ports, etcd)
                        for number, name in [(2, "db1"), (3, "db2")]]
        for member in self.members:
            member.start()
        try:
            self.primary_and_standby()
        except TimeoutError:
            self.print_logs()
            raise

    def print_logs(self):
        for log in sorted(self.folder.glob("*/log")):
            print(f"{log}:\n{log.read_text(errors='replace')[-10000:]}")

    def start_all(self):
        """Each member that was lost or hung."""
        for member in self.members:
            member.start_again()

    @staticmethod
    def _free_ports(addresses):
        """Ports of these names that are free on all these addresses. Nobody else uses the addresses, so they stay free."""
        ports = {}
        for name in ["etcd", "peers", "rest", "postgresql"]:
            while name not in ports:
                port = random.choice(PORTS)
                probes = []
                try:
                    for address in addresses:
                        probes.append(socket.create_server((address, port)))
                    if port not in ports.values():
                        ports[name] = port
                except OSError:
                    pass
                for probe in probes:
                    probe.close()
        return ports

    def _new_folder(self, name):
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        return folder

    def wait_for(self, what, look):
        """Returns the first value of look() that is not false."""
        until = time.monotonic() + PATIENCE
        while not (found := look()):
            if time.monotonic() > until:
                raise TimeoutError(f"{what} did not come within {PATIENCE} s")
            time.sleep(0.1)
        return found

    def primary_and_standby(self):
        """The two members by their roles, when both work, and the standby may take the place of the primary."""
        def look():
            roles = self.members[0].roles()
            by_role = {roles.get(member.name): member for member in self.members}
            is_safe = {"leader", "sync_standby"} <= by_role.keys() and by_role["leader"].is_primary()
            return is_safe and (by_role["leader"], by_role["sync_standby"])
        return self.wait_for("a primary with a synchronous standby", look)

    def create(self, database):
        """Makes a database. The connection string in the `database` of what it returns names all members."""
        def look():
            primary, standby = self.primary_and_standby()
            primary.sql(f"CREATE DATABASE {database}")  # which may be there already
            # The standby replays late what is committed, and libpq gives up where the database is not there.
            return all(member.sql("SELECT 1", database) for member in (primary, standby))
        self.wait_for("a database", look)
        addresses = ",".join(member.address for member in self.members)
        ports = ",".join(str(member.ports["postgresql"]) for member in self.members)
        return SimpleNamespace(database=f"host={addresses} port={ports} user=postgres dbname={database}")

    def remove(self):
        self.remover.communicate()  # closes its input
        for each in [self.etcd, *[member.patroni for member in self.members]]:
            each.wait()


def remove_at_the_end_of_the_input():
    folder = Path(tempfile.mkdtemp(prefix="foliot-patroni.", dir="/tmp"))
    folder.chmod(0o755)
    print(folder, flush=True)
    sys.stdin.read()
    end_all(folder)


if __name__ == "__main__":
    remove_at_the_end_of_the_input()
