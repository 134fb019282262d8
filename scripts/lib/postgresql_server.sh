#!/usr/bin/env bash
# A PostgreSQL server for one program, for postgresql_server.hpp of the tests and postgresql_server.py:
#   make | start FOLDER | create FOLDER DATABASE | crash FOLDER | kill FOLDER | sql CONNECTION STATEMENT | remove FOLDER
# and a second server that follows it, and without which it commits nothing from then on:
#   standby FOLDER [PORT] | promote FOLDER
# Its connection to the first one may lead through a local PORT.
# A server that has crashed, and that follows the one in PRIMARY from then on:
#   follow FOLDER PRIMARY
# A server that archives its log in FOLDER/archive from its next start on, a base backup of it in FOLDER/base, and the
# server as the backup is by itself:
#   archive FOLDER | backup FOLDER | restore FOLDER
# A server that has ended, with its configuration in FOLDER/etc from then on, beside its data, as Debian's packages have
# it:
#   configure FOLDER
# A hung server: its connections stay open, and nothing is answered:
#   hang FOLDER | continue FOLDER
# PostgreSQL refuses to run as root: then it runs as the user postgres.
# With FOLIOT_POSTGRESQL_MODELS=FOLDER in the environment, initdb runs once, and `make` copies what it has made.
set -euo pipefail

# The newest version. Scripts use its psql: Debian's /usr/bin/psql is a program in Perl that looks for one.
versions=(/usr/lib/postgresql/*/bin)
programs=${versions[0]}
if ((${#versions[@]} > 1)); then programs=$(printf '%s\n' "${versions[@]}" | sort -V | tail -n 1); fi

as_server() {
    if ((EUID == 0)); then
        setpriv --reuid postgres --regid postgres --clear-groups -- "$@"
    else
        "$@"
    fi
}

# Makes the folder of a server, which goes away with the program that started the shell of this script.
new_folder() {
    local owner
    owner=$(ps -o ppid= -p $PPID | tr -d ' ')
    folder=$(mktemp -d /tmp/foliot-pg.XXXXXX)
    remove_with "$owner"
    ((EUID != 0)) || chown postgres "$folder"
}

# Makes the data of an empty server in $1.
initialise() {
    (cd "$(dirname -- "$1")" && as_server "$programs/initdb" -D "$1" -U postgres --auth=trust --no-sync) >/dev/null
}

# The same, as a copy of what initdb has made before with this script and this locale. Scripts that begin at once wait for
# the first one. Each server has an identifier of its own.
copy_model() {
    local model=$FOLIOT_POSTGRESQL_MODELS/$(basename -- "$(dirname -- "$programs")")
    model+=-$({ cat -- "${BASH_SOURCE[0]}" && locale; } 2>/dev/null | cksum | cut -d' ' -f1)
    mkdir -p -- "$FOLIOT_POSTGRESQL_MODELS"
    exec {lock}>"$model.lock"
    flock "$lock"
    if [[ ! -d $model ]]; then
        initialise "$1"
        rm -rf -- "$model.part"
        cp -a -- "$1" "$model.part"
        mv -- "$model.part" "$model"
        exec {lock}>&-
        return
    fi
    exec {lock}>&-
    cp -a -- "$model" "$1"
    # The identifier is what pg_control begins with. pg_resetwal keeps the rest, and writes the checksum anew.
    head -c 6 /dev/urandom | dd of="$1/global/pg_control" conv=notrunc status=none
    (cd "$(dirname -- "$1")" && as_server "$programs/pg_resetwal" -f -D "$1") >/dev/null 2>&1
}

# follow PRIMARY [PORT]: makes $folder a synchronous standby of the server in PRIMARY.
follow() {
    local way=(-h "$1")
    [[ -z ${2-} ]] || way=(-h 127.0.0.1 -p "$2")
    (cd "$folder" && as_server "$programs/pg_basebackup" -D "$folder/data" "${way[@]}" -U postgres -R -X stream -C \
        -S standby -c fast) >/dev/null 2>&1
    # The last line of a setting counts.
    echo "unix_socket_directories = '$folder'" >>"$folder/data/postgresql.conf"
    sed -i "s|user=postgres|application_name=standby user=postgres|" "$folder/data/postgresql.auto.conf"
    bash "${BASH_SOURCE[0]}" start "$folder"
    "$programs/psql" -qXAt -h "$1" -U postgres -d postgres -c "ALTER SYSTEM SET synchronous_standby_names = 'standby'" \
        -c "SELECT pg_reload_conf()" >/dev/null
    until [[ $("$programs/psql" -qXAt -h "$1" -U postgres -d postgres -c "SELECT sync_state FROM pg_stat_replication") == sync ]]; do
        sleep 0.05
    done
}

# remove_with PROCESS: ends the server, and removes its folder, when the process is gone. This script may still be at work
# in the folder then, so one time may not be enough.
remove_with() {
    setsid bash -c "
        while [[ -d '$folder' ]] && kill -0 $1; do sleep 1; done
        while [[ -d '$folder' ]]; do bash '${BASH_SOURCE[0]}' remove '$folder'; sleep 1; done" </dev/null >/dev/null 2>&1 &
}

# All processes of the server in this folder.
processes() {
    local postmaster
    postmaster=$(head -n 1 "$1/data/postmaster.pid")
    echo "$postmaster"
    ps -o pid= --ppid "$postmaster"
}

# Stops all of them. The children of a stopped postmaster stay the same.
stop_processes() {
    kill -STOP "$(head -n 1 "$1/data/postmaster.pid")"
    processes "$1" | xargs kill -STOP
}

case $1 in
make)
    new_folder
    if [[ -n ${FOLIOT_POSTGRESQL_MODELS-} ]]; then copy_model "$folder/data"; else initialise "$folder/data"; fi
    cat >>"$folder/data/postgresql.conf" <<END
listen_addresses = ''
unix_socket_directories = '$folder'
fsync = off
full_page_writes = off
max_connections = 60
shared_buffers = 32MB
autovacuum_naptime = 10s
END
    echo "$folder"
    ;;
standby)
    new_folder
    follow "$2" "${3-}"
    echo "$folder"
    ;;
follow)
    folder=$2
    rm -rf -- "$folder/data"
    follow "$3"
    ;;
promote)
    # It is not to wait for a standby of its own.
    echo "synchronous_standby_names = ''" >>"$2/data/postgresql.auto.conf"
    (cd "$2" && as_server "$programs/pg_ctl" -D "$2/data" -w promote) >/dev/null
    ;;
archive)
    (cd "$2" && as_server mkdir "$2/archive")
    # A file that is there is whole, also for a test that waits for it.
    cat >>"$2/data/postgresql.conf" <<END
archive_mode = on
archive_command = 'test ! -f $2/archive/%f && cp %p $2/archive/%f.part && mv $2/archive/%f.part $2/archive/%f'
END
    ;;
backup)
    (cd "$2" && as_server "$programs/pg_basebackup" -D "$2/base" -h "$2" -U postgres -c fast) >/dev/null 2>&1
    ;;
restore)
    rm -rf -- "$2/data"
    cp -a "$2/base" "$2/data"
    bash "${BASH_SOURCE[0]}" start "$2"
    ;;
configure)
    (cd "$2" && as_server mkdir etc && as_server mv data/postgresql.conf data/pg_hba.conf data/pg_ident.conf etc)
    cat >>"$2/etc/postgresql.conf" <<END
data_directory = '$2/data'
hba_file = '$2/etc/pg_hba.conf'
ident_file = '$2/etc/pg_ident.conf'
END
    ;;
kill)
    stop_processes "$2"
    list=$(processes "$2")
    xargs kill -KILL <<<"$list"
    # One that has ended stays in the list until its parent has seen it.
    while [[ $(ps -o stat= -p "${list//$'\n'/,}") =~ (^|$'\n')[^Z] ]]; do sleep 0.01; done
    # Another process may get the number that they have.
    rm -f -- "$2/data/postmaster.pid" "$2"/.s.PGSQL.*.lock
    ;;
hang)
    stop_processes "$2"
    ;;
continue)
    # The postmaster last: it would remove children that have ended, and kill would not find them.
    processes "$2" | tac | xargs kill -CONT
    ;;
start)
    options=()
    [[ ! -d $2/etc ]] || options=(-o "-c config_file=$2/etc/postgresql.conf")
    if ! (cd "$2" && as_server "$programs/pg_ctl" -D "$2/data" "${options[@]}" -l "$2/log" -w -t 60 start) >/dev/null; then
        tail -n 20 -- "$2/log" >&2
        exit 1
    fi
    ;;
create)
    "$programs/psql" -qX -h "$2" -U postgres -d postgres -c "CREATE DATABASE $3"
    ;;
crash)
    (cd "$2" && as_server "$programs/pg_ctl" -D "$2/data" -m immediate -w stop) >/dev/null
    ;;
sql)
    "$programs/psql" -qXAt -v ON_ERROR_STOP=1 -d "$2" -c "$3"
    ;;
remove)
    [[ -d $2 ]] || exit 0
    processes "$2" 2>/dev/null | xargs --no-run-if-empty kill -CONT 2>/dev/null || true
    (cd "$2" && as_server "$programs/pg_ctl" -D "$2/data" -m immediate -w stop) >/dev/null 2>&1 || true
    rm -rf -- "$2"
    ;;
*)
    echo "unknown command: $1" >&2
    exit 2
    ;;
esac
