"""A PostgreSQL server of a program's own, on a socket in a temporary folder. It ends with the program, also if that is
killed."""
import atexit
import os
import subprocess
import time
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "lib" / "postgresql_server.sh"


FOLDER = Path("/usr/lib/postgresql")  # of the versions
# Debian's /usr/bin/psql is a program in Perl that looks for one of these.
PSQL = max(FOLDER.glob("*/bin/psql"), key=lambda path: float(path.parts[-3]), default="psql")


def is_installed():
    return any(FOLDER.glob("*/bin/initdb"))


class PostgresqlServer:
    """With syncs: what it has committed survives stop_at_once()."""

    def __init__(self):
        self.standby = None
        self.folder = self._run("make")
        with (Path(self.folder) / "data" / "postgresql.conf").open("a") as settings:
            settings.write("fsync = on\nfull_page_writes = on\n")  # the last line of a setting counts
        self.start()
        self._run("create", self.folder, "jobs")
        self.database = f"host={self.folder} user=postgres dbname=jobs"

    @staticmethod
    def _run(*arguments):
        # The script takes the parent of the shell that starts it for the program, as it is with popen(). In a session of
        # its own, Ctrl-C does not end it halfway.
        done = subprocess.run(["sh", "-c", 'bash "$0" "$@"; exit $?', str(SCRIPT), *map(str, arguments)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False,
                              start_new_session=True)
        if done.returncode != 0:
            raise RuntimeError(f"postgresql_server.sh {' '.join(map(str, arguments))} failed: {done.stderr}")
        return done.stdout.strip()

    def start(self):
        self._run("start", self.folder)

    def stop_at_once(self):
        """As a crash of its processes."""
        self._run("crash", self.folder)

    def kill(self):
        """As stop_at_once(), but its processes get SIGKILL, so that none of them does anything before it ends."""
        self._run("kill", self.folder)

    def restart(self, pause=0.0):
        self.stop_at_once()
        time.sleep(pause)  # an outage of any length: nothing relies on it
        self.start()

    def add_standby(self, port=""):
        """A second server, which must have each commit before it is acknowledged. It reaches this one through the local
        port, if there is one."""
        self.standby = self._run("standby", self.folder, port)
        self.database = f"host={self.folder},{self.standby} user=postgres dbname=jobs"

    def stop_standby(self):
        self._run("crash", self.standby)

    def start_standby(self):
        self._run("start", self.standby)

    def do_without_standby(self):
        """The primary commits by itself from now on."""
        self.sql(self.folder, "ALTER SYSTEM SET synchronous_standby_names = ''")
        self.sql(self.folder, "SELECT pg_reload_conf()")

    def promote_standby(self):
        self._run("promote", self.standby)

    def follow_promoted(self):
        """The crashed primary becomes the standby of the server that was promoted."""
        self._run("follow", self.folder, self.standby)
        self.folder, self.standby = self.standby, self.folder

    def archive(self):
        """Keeps the log of all changes from now on, for restore()."""
        self._run("archive", self.folder)
        self.restart()

    def back_up(self):
        """A base backup of the running server."""
        self._run("backup", self.folder)

    def restore(self):
        """The server that has crashed, from its base backup: as that is without the archive."""
        self._run("restore", self.folder)

    def configure_beside_data(self):
        """The configuration of the server that has crashed is in a folder of its own from now on, as Debian has it."""
        self._run("configure", self.folder)

    def as_owner(self, script):
        """Runs this shell script as the user of the server, with its data folder in PGDATA."""
        change = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"] if os.geteuid() == 0 else []
        subprocess.run([*change, "env", f"PGDATA={self.folder}/data", "sh", "-euc", script], check=True, cwd=self.folder)

    def hang(self):
        """Stops its processes: connections stay open, and nothing is answered."""
        self._run("hang", self.folder)

    def go_on(self):
        self._run("continue", self.folder)

    def sql(self, folder, statement):
        return self.ask(f"host={folder} user=postgres dbname=jobs", statement)

    @classmethod
    def ask(cls, database, statement):
        """What the database with this connection string answers."""
        return cls._run("sql", database, statement)

    @classmethod
    def end_reservations(cls, database):
        """All nodes have ended. What is left are reservations over HTTP, which last for a minute: the next node finds them over."""
        cls.ask(database, "WITH over AS (UPDATE foliot.reserved SET expires = 0) "
                          "UPDATE foliot.node SET looks_at = 0 WHERE looks_at IS NOT NULL")

    def remove(self):
        if self.standby:
            self._run("remove", self.standby)
        self._run("remove", self.folder)


class SharedServer(PostgresqlServer):
    """A server for all tests of a program, one after the other: to make one takes a second of a processor. A test begins with
    renew() and ends with remove(), and has a database that is new. What belongs to the server stays, as roles do. A test may end the
    server or stop it, and need not start it again."""

    def __init__(self):
        super().__init__()
        self.is_hung = self.is_ended = False
        self.is_used = False
        atexit.register(super().remove)

    def renew(self):
        if self.is_used:
            on_server = f"host={self.folder} user=postgres dbname=postgres"
            self.ask(on_server, "DROP DATABASE IF EXISTS jobs WITH (FORCE)")
            self._run("create", self.folder, "jobs")
        self.is_used = True
        self.database = f"host={self.folder} user=postgres dbname=jobs"
        return self

    def start(self):
        super().start()
        self.is_ended = False

    def stop_at_once(self):
        super().stop_at_once()
        self.is_ended = True
        self.is_hung = False

    def kill(self):
        super().kill()
        self.is_ended = True
        self.is_hung = False

    def hang(self):
        self.is_hung = True
        super().hang()

    def go_on(self):
        super().go_on()
        self.is_hung = False

    def remove(self):
        if self.is_hung:
            self.go_on()
        if self.is_ended:
            self.start()


_shared = {}


def shared_server(name="first"):
    """The shared server of this program with this name, and a new database."""
    if name not in _shared:
        _shared[name] = SharedServer()
    return _shared[name].renew()
