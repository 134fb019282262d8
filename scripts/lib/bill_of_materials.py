#!/usr/bin/env python3
"""Writes what foliot is built with and needs, as a CycloneDX bill of materials (an SBOM) in JSON.

usage: scripts/lib/bill_of_materials.py NAME VERSION ARCHIVE < PACKAGES

PACKAGES are the Debian packages of scripts/lib/packages.sh, one in a line. Those that are installed have the version
of this machine, with which the release was tested. Only time, place and number of the document are left out, so the same
packages make the same bytes.
"""
import hashlib
import json
import subprocess
import sys
from pathlib import Path

# What is linked with the libraries and the program, or compiled into them. The rest is optional (an adapter, an example,
# probes), or only builds and tests foliot and is in none of its files.
REQUIRED = {"libboost-dev", "libbz2-dev", "libcli11-dev", "libcurl4-openssl-dev", "libfmt-dev", "liblzma-dev", "libpq-dev",
            "librocksdb-dev", "libsimdjson-dev", "libssl-dev", "libzstd-dev", "nlohmann-json3-dev", "zlib1g-dev"}
OPTIONAL = {"libasio-dev", "libev-dev", "libevent-dev", "libglib2.0-dev", "libjs-chart.js", "libsystemd-dev", "liburing-dev",
            "libuv1-dev", "systemtap-sdt-dev"}
EXCLUDED = {"ca-certificates", "cmake", "g++", "git", "libbenchmark-dev", "libgmock-dev", "libgtest-dev", "librapidcheck-dev",
            "ninja-build", "openssl", "pkg-config", "python3"}


def scope_of(package: str) -> str:
    for scope, those in (("required", REQUIRED), ("optional", OPTIONAL), ("excluded", EXCLUDED)):
        if package in those:
            return scope
    sys.exit(f"bill of materials: {package} is in none of the lists of {Path(__file__).name}: add it to one")


def versions_of(packages: list[str]) -> dict[str, str]:
    """Of those that are installed."""
    asked = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status} ${Version}\n", *packages],
                           capture_output=True, text=True, check=False).stdout
    lines = [line.split() for line in asked.splitlines()]
    return {line[0]: line[2] for line in lines if len(line) == 3 and line[1] == "installed"}


def component(package: str, version: str | None) -> dict:
    name = f"pkg:deb/debian/{package.replace('+', '%2B')}"
    made = {"type": "library", "bom-ref": package, "name": package, "scope": scope_of(package),
            "purl": f"{name}@{version.replace('+', '%2B').replace(':', '%3A')}?distro=debian-12" if version else
                    f"{name}?distro=debian-12"}
    return made | ({"version": version} if version else {})


def bill(name: str, version: str, archive: Path, packages: list[str]) -> dict:
    versions = versions_of(packages)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "library", "bom-ref": name, "name": name, "version": version,
                                   "hashes": [{"alg": "SHA-256", "content": digest}]}},
        "components": [component(each, versions.get(each)) for each in packages],
        "dependencies": [{"ref": name, "dependsOn": [each for each in packages if scope_of(each) != "excluded"]}],
    }


def main() -> int:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    packages = sorted(set(sys.stdin.read().split()))
    json.dump(bill(sys.argv[1], sys.argv[2], Path(sys.argv[3]), packages), sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
