"""The settings of nginx and haproxy on the page docs/serve/proxy.md: requests, long polls and events pass through them."""
import http.client
import json
import re
import shutil
import subprocess
import threading
import time
from pathlib import Path

from kit import beanstalk_client
from kit.beanstalk_client import PATIENCE
from kit.access_case import AccessCase
from kit.program_case import main

PAGE = Path(__file__).resolve().parents[3] / "docs/serve/proxy.md"
NAME = "jobs.example.com"


def settings(language):
    return re.search(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)[1]


class Proxies(AccessCase):
    def run_proxy(self, command, text):
        """The proxy with these settings, in front of the server. Returns its port."""
        program = shutil.which(command[0], path="/usr/sbin:/usr/bin:/sbin:/bin")
        if program is None:
            self.skipTest(f"{command[0]} is not installed")
        self.assertIn("8080", text)
        self.assertIn("127.0.0.1:11380", text)
        text = text.replace("75s", "1h")  # nothing ends but by what the proxy sees
        until = time.monotonic() + PATIENCE
        while (port := self.try_proxy([program, *command[1:]], text)) is None:  # another process has got the port
            self.assertLess(time.monotonic(), until)
        return port

    def try_proxy(self, command, text):
        """The port of the proxy; None if it has ended."""
        port = beanstalk_client.free_port()
        socket = f"unix:{self.path}" if command[0].endswith("nginx") else f"unix@{self.path}"
        file = self.here / "proxy.conf"
        file.write_text(text.replace("listen 8080", f"listen 127.0.0.1:{port}").replace("bind :8080", f"bind 127.0.0.1:{port}")
                        .replace("127.0.0.1:11380", socket))
        proxy = subprocess.Popen([*command, str(file)], cwd=self.here, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(proxy.wait)
        self.addCleanup(proxy.terminate)
        until = time.monotonic() + PATIENCE
        while proxy.poll() is None:
            try:
                if self.through(port, "GET", "/v1/tubes")[0] == 200:  # no other server knows the token
                    return port
            except (OSError, ValueError, http.client.HTTPException):
                pass
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        return None

    def connect_through(self, port, method, target, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        fields = {"Host": NAME, "Authorization": f"Bearer {self.admin}"} | (headers or {})
        connection.request(method, target, body=body, headers=fields)
        return connection.getresponse()

    def through(self, port, method, target, body=None):
        answer = self.connect_through(port, method, target, body)
        text = answer.read()
        return answer.status, json.loads(text)

    def check_all(self, port):
        self.assertEqual(self.through(port, "PUT", "/v1/tubes/a%2Fb/jobs/order%2F17?delay=1h", b"hello")[0], 201)
        status, job = self.through(port, "GET", "/v1/tubes/a%2Fb/jobs/order%2F17")
        self.assertEqual((status, job["tube"], job["key"]), (200, "a/b", "order/17"))
        self.assertEqual(self.ask("GET", "/v1/tubes", None)[0], 401)
        events = self.connect_through(port, "GET", "/v1/events?tube=mail")
        self.assertEqual(events.status, 200)
        got = []
        poll = threading.Thread(target=lambda: got.append(self.through(port, "POST", "/v1/reserve?tube=mail&timeout=60s")))
        poll.start()
        self.addCleanup(poll.join, PATIENCE)
        self.assertEqual(self.through(port, "POST", "/v1/jobs?tube=mail&key=now", b"hi")[0], 201)
        poll.join(PATIENCE)
        self.assertEqual(got[0][1]["jobs"][0]["text"], "hi")
        line = ""
        while '"key":"now"' not in line:  # while the stream goes on
            line = events.readline().decode()
            self.assertTrue(line, "the stream has ended")
        gone = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        gone.request("POST", "/v1/reserve?tube=mail&timeout=1h", headers={"Host": NAME, "Authorization": f"Bearer {self.admin}"})
        self.wait_for_waiting(1)
        gone.close()
        self.wait_for_waiting(0)  # no job is reserved for a client that has gone

    def wait_for_waiting(self, count):
        until = time.monotonic() + PATIENCE
        while self.ask("GET", "/v1/statistics", self.admin)[1]["server"]["waiting"] != count:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def test_nginx(self):
        self.begin("--proxy", "unix", "--host", NAME)
        wrapped = ("daemon off;\nerror_log stderr;\npid nginx.pid;\nworker_processes 1;\nevents {}\nhttp {\naccess_log off;\n"
                   f"client_body_temp_path {self.here};\nproxy_temp_path {self.here};\nfastcgi_temp_path {self.here};\n"
                   f"uwsgi_temp_path {self.here};\nscgi_temp_path {self.here};\n" + settings("nginx") + "}\n")
        user = "user root;\n" if Path("/proc/self").stat().st_uid == 0 else ""  # the socket is in a folder of its own
        self.check_all(self.run_proxy(["nginx", "-p", str(self.here), "-e", "stderr", "-c"], user + wrapped))

    def test_haproxy(self):
        self.begin("--proxy", "unix", "--host", NAME)
        self.check_all(self.run_proxy(["haproxy", "-db", "-f"], settings("text")))


if __name__ == "__main__":
    main()
