"""The sessions of an access log, computed without timers: what `foliot replay` is compared with."""
import datetime
import re

SECOND = 1_000_000_000

LINE = re.compile(rb'([^\x00-\x20]+) [^ ]+ .+? \[([^\]]{26})\] ".*" (?:\d{3}|-) (?:\d+|-)(?: ".*)?\s*')


def log_time(text, known={}):
    if text not in known:
        moment = datetime.datetime.strptime(text.decode(), "%d/%b/%Y:%H:%M:%S %z")
        known[text] = int(moment.timestamp()) * SECOND
    return known[text]


def iso(time):
    text = datetime.datetime.fromtimestamp(time // SECOND, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f"{time % SECOND:09}".rstrip("0")
    return text + (f".{fraction}" if fraction else "") + "Z"


def requests_of(lines):
    """The client and the time of each line that is in the format."""
    matches = (LINE.fullmatch(line) for line in lines)
    return [(match[1], log_time(match[2])) for match in matches if match]


def sessions_of(requests, idle):
    """The rows of the CSV: a session ends where its client asks for nothing for long enough."""
    now, live, ended = None, {}, []
    for client, time in requests:
        now = time if now is None else max(now, time)
        if client in live and live[client][1] + idle <= now:
            ended.append((client, *live.pop(client)))
        start, _, count = live.get(client, (now, now, 0))
        live[client] = (start, now, count + 1)
    ended += [(client, *session) for client, session in live.items()]
    ended.sort(key=lambda row: (row[2] + idle, row[0]))
    return [["client", "start", "last_request", "requests", "expired"]] + [
        [client.decode("latin-1"), iso(start), iso(last), str(count), iso(last + idle)]
        for client, start, last, count in ended]
