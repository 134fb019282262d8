"""Stores as a version of foliot has written them, with jobs in every state: how one is made, and what it must show to every
later version. A fixture is the files NAME-STORE.tar.xz or NAME-STORE.sql.xz and NAME-STORE.json in formats/, where NAME is
the commit of the version."""
import json
import lzma
import re
import struct
import subprocess
import tarfile
import time
from pathlib import Path

from kit import beanstalk_client
from kit.http_client import LocalConnection

FORMATS = Path(__file__).resolve().parent / "formats"
# The node that wrote a database. The same name takes back what that one had reserved.
WRITER = "writer"
TUBES = ["bulk", "mail", "paused"]
LONGEST = 4294967295  # of a delay and a pause, in seconds: 136 years
SHORT = 60_000  # milliseconds: a job that becomes due while its store lies in the fixture
IN_2100 = 4102444800000  # milliseconds since 1970
# Requests that happen once: the key, the method, the target and the value.
ONCE = [["fixture-put", "POST", "/v1/jobs?tube=mail", {"text": "was put once", "priority": 20, "ttr": "1h"}],
        ["fixture-keyed", "PUT", "/v1/tubes/mail/jobs/put-once", {"text": "was put once with a key", "delay": "1000d"}],
        ["fixture-batch", "POST", "/v1/batch", {"jobs": [{"tube": "mail", "text": "of a batch", "ttr": "1h"}] * 2}],
        ["fixture-atomic", "POST", "/v1/batch?atomic=true", {"jobs": [{"tube": "bulk", "text": "of all or none", "ttr": "1h"}] * 2}]]
NUMBERS = ["pri", "delay", "ttr", "reserves", "timeouts", "releases", "buries", "kicks", "due-ms", "ttr-ms"]


def statistics(connection, command):
    """The dictionary in the answer; None if there is no such job or tube."""
    answer = connection.ask(command + b"\r\n")
    if answer == b"NOT_FOUND\r\n" or answer == b"GONE\r\n":
        return None
    return dict(re.findall(r'^([a-z-]+): "?(.*?)"?$', answer.decode(), re.M))


def job_facts(connection, number):
    """What a client sees of a job that does not depend on when it looks; None if it is gone."""
    seen = statistics(connection, b"x-stats-job %d" % number)
    if seen is None:
        return None
    body = connection.ask(b"peek %d\r\n" % number).split(b"\r\n", 1)[1][:-2]
    return {"tube": seen["tube"], "state": seen["state"], "key": seen["key"], "body": body.decode("latin-1"),
            **{name: int(seen[name]) for name in NUMBERS},
            **{name: seen[name] for name in ["fields", "history"] if name in seen}}


def encoded(*fields):
    """Fields of a job, from pairs of a tag and a value."""
    return b"".join(struct.pack(">HH", tag, len(value)) + value for tag, value in fields)


def ask_once(server, key, method, target, value):
    """The value of the answer to a request that happens once, and whether it is that of an earlier one."""
    client = LocalConnection(server.http)
    try:
        client.request(method, target, body=json.dumps(value),
                       headers={"Content-Type": "application/json", "Idempotency-Key": key})
        answer = client.getresponse()
        read = answer.read()
        if answer.status not in (200, 201):
            raise RuntimeError(f"{key} was answered by {answer.status}: {read.decode()}")
        return json.loads(read), answer.getheader("Idempotency-Replayed") == "true"
    finally:
        client.close()


def once_facts(server):
    """What a program answers to repeats of the requests that happen once."""
    answers = {each[0]: ask_once(server, *each) for each in ONCE}
    anew = [key for key, (_, replayed) in answers.items() if not replayed]
    if anew:
        raise RuntimeError(f"{anew} happened twice")
    return {key: answer for key, (answer, _) in answers.items()}


class Filling:
    """Puts the jobs of a fixture. Those that are reserved at the end stay so as long as its connection is open. Requests
    happen once if the server speaks HTTP."""

    def __init__(self, server):
        self.server = server
        self.client = server.connect()
        self.ids, self.gone, self.held, self.buried = [], [], [], []
        self.fill()

    def ask(self, command, answer):
        got = self.client.ask(command)
        if not re.fullmatch(answer + rb"\r\n", got, re.S):
            raise RuntimeError(f"{command} was answered by {got}, not by {answer}")
        return got

    def put(self, body, priority=1024, delay=0, ttr=3600, tube=b"mail"):
        self.ask(b"use %s\r\n" % tube, rb"USING .*")
        got = self.ask(b"put %d %d %d %d\r\n%s\r\n" % (priority, delay, ttr, len(body), body), rb"INSERTED \d+")
        self.ids.append(int(got.split()[1]))
        return self.ids[-1]

    def put_key(self, key, body, policy=b"refuse", due=b"0", ttr=60_000, priority=7):
        """With times in milliseconds; a key of `-` is none."""
        self.ask(b"use mail\r\n", rb"USING .*")
        got = self.ask(b"x-put %s %s %d %s %d %d\r\n%s\r\n" % (policy, key, priority, due, ttr, len(body), body),
                       rb"(?:INSERTED|REPLACED) \d+")
        self.ids.append(int(got.split()[1]))
        return self.ids[-1]

    def put_fields(self, key, body, fields, history, due=b"0"):
        self.ask(b"use mail\r\n", rb"USING .*")
        line = b"x-put refuse %s 50 %s 60000 %d %d %d\r\n" % (key, due, len(body), len(fields), len(history))
        self.ids.append(int(self.ask(line + body + fields + history + b"\r\n", rb"INSERTED \d+").split()[1]))
        return self.ids[-1]

    def reserve(self, job):
        self.ask(b"reserve-job %d\r\n" % job, rb"RESERVED %d .*" % job)

    def bury(self, job, priority):
        self.reserve(job)
        self.ask(b"bury %d %d\r\n" % (job, priority), rb"BURIED")
        self.buried.append(job)

    def wait_for_state(self, job, state):
        until = time.monotonic() + beanstalk_client.PATIENCE
        while (seen := statistics(self.client, b"stats-job %d" % job)["state"]) != state:
            if time.monotonic() > until:
                raise RuntimeError(f"job {job} stays {seen}")
            time.sleep(0.01)

    def fill(self):
        self.put(b"the most urgent", 0)
        self.put(b"the least urgent", 4294967295)
        self.put(bytes(range(256)))
        self.put(b"")
        self.put(b"long " * 300, 5)  # kept apart by the embedded store
        self.put(b"long " * 4000, 1023, tube=b"bulk")
        self.put_key(b"order-1", b"has a key")
        self.put_key(b'"\\quoted', b"has a key that is quoted", priority=3000)
        released = self.put(b"was released twice")
        for priority in [2, 9]:
            self.reserve(released)
            self.ask(b"release %d %d 0\r\n" % (released, priority), rb"RELEASED")
        expired = self.put_key(b"-", b"its reservation ended", ttr=1)
        self.reserve(expired)
        self.wait_for_state(expired, "ready")
        self.put(b"far", 4, LONGEST, ttr=1)
        self.put_key(b"in-2100", b"at a time", due=b"@4102444800000")
        moved = self.put_key(b"moved", b"was moved")
        self.ask(b"x-reschedule =moved @4102444800001\r\n", rb"RESCHEDULED %d" % moved)
        later = self.put(b"was released with a delay")
        self.reserve(later)
        self.ask(b"release %d 11 %d\r\n" % (later, LONGEST), rb"RELEASED")
        buried = [self.put(b"buried %d" % number) for number in range(4)]
        for job, priority in zip([buried[2], buried[0], buried[3], buried[1]], [30, 10, 40, 20]):
            self.bury(job, priority)
        self.bury(self.put_key(b"buried-key", b"buried with a key"), 1)
        self.bury(self.put(b"long and buried " * 100, tube=b"bulk"), 1)
        kicked = self.put(b"was kicked")
        self.bury(kicked, 6)
        self.ask(b"kick-job %d\r\n" % kicked, rb"KICKED")
        self.buried.remove(kicked)
        finished = self.put(b"was finished")
        self.reserve(finished)
        self.ask(b"delete %d\r\n" % finished, rb"DELETED")
        cancelled = self.put_key(b"again", b"was cancelled")
        self.ask(b"x-cancel =again\r\n", rb"CANCELLED %d" % cancelled)
        replaced = self.put_key(b"again", b"was replaced")
        self.put_key(b"again", b"has replaced", policy=b"replace")
        self.gone = [finished, cancelled, replaced]
        self.put(b"in a paused tube", 3, tube=b"paused")
        self.put(b"in a paused tube, too", 2, LONGEST, tube=b"paused")
        self.ask(b"pause-tube paused %d\r\n" % LONGEST, rb"PAUSED")
        self.put_key(b"-", b"becomes due meanwhile", due=b"%d" % SHORT, priority=8)
        self.held = [self.put(b"was held", 12), self.put_key(b"held-key", b"was held with its key", ttr=LONGEST * 1000)]
        if "foliot-field-bytes" in statistics(self.client, b"stats"):
            self.fill_fields()
        if self.server.http is not None:
            self.fill_once()
        for job in self.held:
            self.reserve(job)

    def fill_once(self):
        """Of version 4 of the folder's format, and version 5 of the schema."""
        for each in ONCE:
            answer, _ = ask_once(self.server, *each)
            self.ids += [int(one["id"]) for one in answer.get("results", [answer])]

    def fill_fields(self):
        """Of versions from 3 of the folder's format on."""
        some = encoded((1, b""), (0x200, bytes(range(256))), (0xffff, b"of a program"))
        tries = encoded((0x100, b"failed"))
        most = encoded((2, bytes(8188)))
        self.put_fields(b"fields-both", b"both", some, tries)
        self.put_fields(b"fields-history", b"has a history alone", b"", tries)
        self.put_fields(b"fields-long", b"long " * 300, some, tries)
        self.put_fields(b"fields-due", b"delayed", some, b"", b"@4102444800000")
        self.put_fields(b"fields-most", b"as much as there may be", most, most)
        for number, body in enumerate([b"buried", b"long and buried " * 100]):
            self.bury(self.put_fields(b"fields-buried-%d" % number, body, some, tries), 60 + number)
        self.put_fields(b"fields-none", b"has none", b"", b"")
        self.held.append(self.put_fields(b"fields-held", b"was held with fields", some, tries))

    def facts(self, reopened):
        """What the version that has written the store finds in it when it opens it again."""
        connection = reopened.connect()
        jobs = {number: job_facts(connection, number) for number in self.ids}
        pauses = {name: int(statistics(connection, b"stats-tube %s" % name.encode())["pause"]) for name in TUBES}
        connection.close()
        wrong = [number for number, job in jobs.items() if (job is None) != (number in self.gone)]
        if wrong:
            raise RuntimeError(f"the version that wrote the store does not find its own jobs: {wrong}")
        return {"jobs": {number: job for number, job in jobs.items() if job}, "gone": self.gone, "held": self.held,
                "buried": self.buried, "pauses": pauses}


# As lists of SQL: two fields, of which one has an empty value, and one; in the encoding of fields.hpp.
TWO_FIELDS = r"\x8000000568656c6c6f80010000"
ONE_FIELD = r"\xffff0001ff"


class FieldsInDatabase:
    """Puts jobs with fields and histories as a node does: also for programs whose clients could not put them."""

    def __init__(self, ask, filling):
        """`ask` executes a statement, and returns the answer."""
        self.ask, self.filling = ask, filling
        self.put(b"with fields", TWO_FIELDS)
        self.put(b"with a history", "", ONE_FIELD)
        self.put(b"with both, and far", ONE_FIELD, TWO_FIELDS, delay=LONGEST * 1000)
        changed = self.put(b"with a new history", ONE_FIELD, ONE_FIELD)
        self.change(changed, 1, TWO_FIELDS)
        self.change(self.put(b"with no history any more", ONE_FIELD, TWO_FIELDS), 1, "")
        self.change(self.put(b"buried with a history", TWO_FIELDS), 2, ONE_FIELD)
        self.held = self.put(b"was held with both", ONE_FIELD, TWO_FIELDS)
        self.filling.reserve(self.held)
        self.filling.held.append(self.held)

    def put(self, body, fields, history="", delay=0):
        job = int(self.ask(f"SELECT (foliot.put_plain(NULL, '{{mail}}', ARRAY['{body.decode()}']::bytea[], '{{5}}', '{{0}}', "
                           f"'{{{delay}}}', '{{3600000}}', ARRAY['{fields}']::bytea[], ARRAY['{history}']::bytea[]))[1]"))
        self.filling.ids.append(job)
        return job

    def change(self, job, what, history):
        """Releases (1) or buries (2) the job, with this history."""
        done = self.ask(f"SELECT count(*) FROM foliot.claim_named((SELECT max(session) FROM foliot.node), 1, NULL, {job})")
        done += self.ask(f"SELECT foliot.change_held(NULL, '{{{what}}}', '{{{job}}}', '{{1}}', '{{1}}', '{{NULL}}', '{{0}}', "
                         f"'{{0}}', ARRAY['{history}']::bytea[])")
        if done != "1{0}":
            raise RuntimeError(f"job {job} was not changed: {done}")
        if what == 2:
            self.filling.buried.append(job)


def fields_facts(ask, ids):
    """[fields, history] of each of these jobs that has any, in hexadecimal digits."""
    found = {}
    for job in ids:
        seen = ask("SELECT encode((shown).fields[1], 'hex') || '/' || encode((shown).fields[2], 'hex') "
                   f"FROM foliot.show({job}, '', '')").split("/")
        if len(seen) == 2:
            found[job] = seen
    return found


def version_facts(ask, ids):
    """The version of each of these jobs that is there."""
    found = {job: ask(f"SELECT foliot.version_of(shown, state) FROM foliot.show({job}, '', '')") for job in ids}
    return {job: version for job, version in found.items() if version}


def write_facts(path, facts):
    path.write_text(json.dumps(facts, indent=1) + "\n")


def read_facts(path):
    facts = json.loads(path.read_text())
    for name in ["jobs", "fields", "versions"]:
        facts[name] = {int(number): fact for number, fact in facts.get(name, {}).items()}
    return {"once": {}, **facts}


def pack_folder(folder, archive):
    """Without what differs from machine to machine."""
    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry
    with tarfile.open(archive, "w:xz", preset=9) as packed:
        packed.add(folder, "jobs", filter=plain)


def unpack_folder(archive, into):
    """Returns the folder of the store."""
    with tarfile.open(archive, "r:xz") as packed:
        packed.extractall(into)
    return into / "jobs"


def dump_schema(database, archive):
    """As text. Commands of later versions of psql are left out: an earlier one would refuse them."""
    dump = subprocess.run(["pg_dump", "--schema=foliot", "--no-owner", "-d", database], stdout=subprocess.PIPE, check=True).stdout
    archive.write_bytes(lzma.compress(re.sub(rb"(?m)^\\(?:un)?restrict .*\n", b"", dump), preset=9 | lzma.PRESET_EXTREME))


def restore_schema(archive, database):
    """In an empty database."""
    done = subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-d", database], input=lzma.decompress(archive.read_bytes()),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{archive.name} cannot be restored: {done.stderr.decode()}")
