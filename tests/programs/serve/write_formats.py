#!/usr/bin/env python3
"""Writes the fixtures of the formats that a program has: folders of the embedded store, of which one was closed and one was
left by `kill -9`, and a dump of its schema of PostgreSQL. A change of a format adds those of its program, and keeps the
others.

    PYTHONPATH=tests/support tests/programs/serve/write_formats.py --name $(git rev-parse --short=8 HEAD)
"""
import argparse
import itertools
import shutil
import subprocess
import tempfile
from pathlib import Path

import format_fixtures
from kit import beanstalk_client, postgresql_server

ROOT = Path(__file__).resolve().parents[3]
SOCKETS = tempfile.TemporaryDirectory()
NUMBERS = itertools.count()


def serve(program, *arguments):
    """Over HTTP, too, if the program has it."""
    options = subprocess.run([program, "serve", "--help"], stdout=subprocess.PIPE, check=True, text=True).stdout
    http = Path(SOCKETS.name) / str(next(NUMBERS)) if "--http " in options else None
    more = [] if http is None else ["--http", f"unix:{http}"]
    return beanstalk_client.Server(lambda port: [program, "serve", "--quiet", "--beanstalk", f"127.0.0.1:{port}",
                                                 *map(str, arguments), *more], http=http)


def write_folder(program, end, fixture):
    """`end` ends the server."""
    with tempfile.TemporaryDirectory() as here:
        folder, copy = Path(here) / "jobs", Path(here) / "copy"
        server = serve(program, "--data", folder)
        filling = format_fixtures.Filling(server)
        end(server)
        format_fixtures.pack_folder(folder, fixture.with_suffix(".tar.xz"))
        shutil.copytree(folder, copy)
        reopened = serve(program, "--data", copy)
        format_fixtures.write_facts(fixture.with_suffix(".json"), filling.facts(reopened))
        reopened.kill()


def write_schema(program, fixture):
    database = postgresql_server.PostgresqlServer()

    def ask(statement):
        return database.ask(database.database, statement)

    try:
        def node(of):
            return serve(program, "--store", of, "--node", format_fixtures.WRITER)
        subprocess.run([program, "serve", "--store", database.database, "--migrate"], check=True)
        server = node(database.database)
        filling = format_fixtures.Filling(server)
        has_fields = ask("SELECT to_regproc('foliot.show') IS NOT NULL") == "t"
        if has_fields:  # since version 2
            format_fixtures.FieldsInDatabase(ask, filling)
        has_versions = ask("SELECT to_regproc('foliot.lock_version') IS NOT NULL") == "t"  # since version 3
        versions = format_fixtures.version_facts(ask, filling.ids) if has_versions else {}
        has_once = ask("SELECT to_regclass('foliot.once') IS NOT NULL") == "t"  # since version 5
        if has_once:  # so that what has happened is known as long as the fixture lasts
            ask(f"UPDATE foliot.once SET ends = {format_fixtures.IN_2100}")
        format_fixtures.dump_schema(database.database, fixture.with_suffix(".sql.xz"))
        server.kill()
        database.sql(database.folder, "CREATE DATABASE copy")
        copy = database.database.replace("dbname=jobs", "dbname=copy")
        format_fixtures.restore_schema(fixture.with_suffix(".sql.xz"), copy)
        reopened = node(copy)
        facts = filling.facts(reopened)
        if has_fields:
            facts["fields"] = format_fixtures.fields_facts(ask, filling.ids)
        if has_versions:
            facts["versions"] = versions
        if has_once:
            facts["once"] = format_fixtures.once_facts(reopened)
        format_fixtures.write_facts(fixture.with_suffix(".json"), facts)
        reopened.kill()
    finally:
        database.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "bin" / "foliot"))
    parser.add_argument("--name", required=True, help="the commit of the program")
    parser.add_argument("--into", type=Path, default=format_fixtures.FORMATS)
    parser.add_argument("--only", choices=["folders", "schema"], help="those whose format has changed; both if none is named")
    options = parser.parse_args()
    if options.only != "schema":
        write_folder(options.program, beanstalk_client.Server.stop, options.into / f"{options.name}-closed")
        write_folder(options.program, beanstalk_client.Server.kill, options.into / f"{options.name}-killed")
    if options.only != "folders":
        write_schema(options.program, options.into / f"{options.name}-schema")
    for each in sorted(options.into.glob(f"{options.name}-*")):
        print(f"{each}: {each.stat().st_size} bytes")


if __name__ == "__main__":
    main()
