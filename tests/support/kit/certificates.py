"""Certificates for tests, made by the program `openssl`."""
import shutil
import ssl
import subprocess
import unittest
from pathlib import Path

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def openssl(*arguments, **options):
    return subprocess.run(["openssl", *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120, check=True, **options)


class Authority:
    """Signs certificates for localhost. Its own one is the file `certificate`."""

    def __init__(self, folder, name="authority"):
        if shutil.which("openssl") is None:
            raise unittest.SkipTest("openssl is not installed (Debian: openssl)")
        self.folder = Path(folder)
        self.certificate, self.key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        openssl("req", "-x509", *KEY, "-keyout", self.key, "-out", self.certificate, "-subj", f"/CN={name}", "-days", 30)

    def issue(self, name, days=30):
        """A certificate and its key, as paths of files. Less than no days: it has ended."""
        certificate, key, request = (self.folder / f"{name}.{kind}" for kind in ["pem", "key", "request"])
        openssl("req", "-new", *KEY, "-keyout", key, "-out", request, "-subj", f"/CN={name}",
                "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-copy_extensions", "copy",
                "-days", days, "-out", certificate)
        return certificate, key

    def client(self, identity=None, version=None):
        """What a client is to have that trusts this authority, with a certificate and key of its own or without."""
        context = ssl.create_default_context(cafile=self.certificate)
        if identity is not None:
            context.load_cert_chain(*identity)
        if version is not None:
            context.minimum_version = context.maximum_version = version
        return context
