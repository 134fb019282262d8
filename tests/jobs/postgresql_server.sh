#!/usr/bin/env bash
# A PostgreSQL server for one test program, for postgresql_server.hpp:
#   make | start FOLDER | create FOLDER DATABASE | crash FOLDER | sql CONNECTION STATEMENT | remove FOLDER
# PostgreSQL refuses to run as root: then it runs as the user postgres.
set -euo pipefail

programs=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)

as_server() {
    if ((EUID == 0)); then
        setpriv --reuid postgres --regid postgres --clear-groups -- "$@"
    else
        "$@"
    fi
}

case $1 in
make)
    folder=$(mktemp -d /tmp/foliot-pg.XXXXXX)
    ((EUID != 0)) || chown postgres "$folder"
    (cd "$folder" && as_server "$programs/initdb" -D "$folder/data" -U postgres --auth=trust --no-sync) >/dev/null
    cat >>"$folder/data/postgresql.conf" <<END
listen_addresses = ''
unix_socket_directories = '$folder'
fsync = off
full_page_writes = off
max_connections = 60
shared_buffers = 32MB
autovacuum_naptime = 10s
END
    # Ends the server, and removes its folder, when the test program is gone.
    owner=$(ps -o ppid= -p $PPID | tr -d ' ')
    setsid bash -c "
        while kill -0 $owner 2>/dev/null; do sleep 1; done
        bash '${BASH_SOURCE[0]}' remove '$folder'" </dev/null >/dev/null 2>&1 &
    echo "$folder"
    ;;
start)
    (cd "$2" && as_server "$programs/pg_ctl" -D "$2/data" -l "$2/log" -w -t 60 start) >/dev/null
    ;;
create)
    psql -qX -h "$2" -U postgres -d postgres -c "CREATE DATABASE $3"
    ;;
crash)
    (cd "$2" && as_server "$programs/pg_ctl" -D "$2/data" -m immediate -w stop) >/dev/null
    ;;
sql)
    psql -qXAt -v ON_ERROR_STOP=1 -d "$2" -c "$3"
    ;;
remove)
    [[ -d $2 ]] || exit 0
    (cd "$2" && as_server "$programs/pg_ctl" -D "$2/data" -m immediate -w stop) >/dev/null 2>&1 || true
    rm -rf -- "$2"
    ;;
*)
    echo "unknown command: $1" >&2
    exit 2
    ;;
esac
