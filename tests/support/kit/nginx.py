"""Debian's nginx in front of servers that listen at socket files."""
import os
import shutil
import subprocess
import time

from kit.beanstalk_client import PATIENCE, free_port

PROGRAM = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
# {file} is the configuration, {here} a folder for what nginx writes.
FLAGS = ["-p", "{here}", "-e", "{here}/nginx.log", "-c", "{file}"]
CONFIGURATION = """
{user}
daemon off;
pid {here}/nginx.pid;
error_log {here}/nginx.log;
worker_processes 1;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {here}/bodies;
  proxy_temp_path {here}/answers;
  fastcgi_temp_path {here}/fastcgi;
  uwsgi_temp_path {here}/uwsgi;
  scgi_temp_path {here}/scgi;
  upstream servers {{ {upstream} }}
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_set_header Host $http_host;
  proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
  proxy_read_timeout 300s;
  server {{
    listen 127.0.0.1:{port};
{locations}
  }}
}}
"""


def configuration(here, port, sockets, locations, before="", behind=""):
    """The text. `sockets`: the files of the servers, which `http://servers` in `locations` stands for; `before` and `behind`
    them stands what else nginx shall know of them."""
    user = "user root;" if os.geteuid() == 0 else ""  # its worker must reach the sockets, in a folder of root
    upstream = " ".join([before, *(f"server unix:{each};" for each in sockets), behind])
    return CONFIGURATION.format(here=here, port=port, user=user, upstream=upstream, locations=locations)


def begin(case, sockets, locations, before="", behind=""):
    """Starts it for a test. The port, at 127.0.0.1."""
    until = time.monotonic() + PATIENCE
    while True:
        port = free_port()
        file, pid = case.here / "nginx.conf", case.here / "nginx.pid"
        file.write_text(configuration(case.here, port, sockets, locations, before, behind))
        flags = [each.format(here=case.here, file=file) for each in FLAGS]
        proxy = subprocess.Popen([PROGRAM, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        case.addCleanup(proxy.wait)
        case.addCleanup(proxy.terminate)
        # Its file is there once it has the port; if another process was quicker, it gives up.
        while proxy.poll() is None and not pid.exists():
            case.assertLess(time.monotonic(), until, "nginx has not started")
            time.sleep(0.1)
        if proxy.poll() is None:
            return port
