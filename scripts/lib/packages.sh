# shellcheck shell=bash
# The Debian packages that foliot needs, and their installation. Uses say.sh.
: "${root:?the directory of the checkout}"

# To build and run the program. The preset `release` configures tests and benchmarks, too.
# shellcheck disable=SC2034  # for the scripts that read this file
run_packages=(
    g++ cmake ninja-build git ca-certificates pkg-config
    libcli11-dev libfmt-dev nlohmann-json3-dev libsimdjson-dev zlib1g-dev libbz2-dev liblzma-dev libzstd-dev
    libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev python3
    libuv1-dev libev-dev libevent-dev libasio-dev libboost-dev libjs-chart.js # for `foliot bench`, the adapters, and HTTP
    libglib2.0-dev libsystemd-dev liburing-dev # for the adapters of other loops, and an example
    librocksdb-dev # the job store on disk
    libpq-dev # the job store in PostgreSQL
    libssl-dev openssl # TLS, and the program that the example is tested with
    libcurl4-openssl-dev # `foliot job`, and webhooks
    systemtap-sdt-dev # <sys/sdt.h>, for the probes
)

# For `scripts/run site`.
site_packages=(python3 doxygen python3-sphinx python3-breathe python3-myst-parser furo)

# For `scripts/run pictures`.
picture_packages=(chromium chromium-driver python3-selenium)

# To test any preset, in addition to those above.
# shellcheck disable=SC2034
test_packages=(
    "${site_packages[@]}"
    "${picture_packages[@]}"
    spin
    abigail-tools # abidw and abidiff, which compare the binary interface
    prometheus python3-prometheus-client # promtool, whose service does not start, and a reader of metrics
    beanstalkd ruby ruby-beaneater php-cli php-pda-pheanstalk python3-pip # for `foliot serve`
    zsh fish # their completion of `foliot`
    curl python3-jsonschema # its HTTP interface, and the description of that
    nginx haproxy # in front of it; their services do not start
    postgresql-15 python3-sqlalchemy python3-psycopg2 # servers of the tests' own, and an application
    patroni python3-etcd etcd-server # a manager of such servers; without a configuration its service does not start
)

# For `scripts/run cluster`, in addition to those that it needs to build. util-linux has setpriv, and netcat-openbsd has nc,
# with which it says how to look at the nodes.
# shellcheck disable=SC2034
cluster_packages=(postgresql-15 python3 procps util-linux netcat-openbsd)

# To test the preset `clang`, in addition to all those above.
# shellcheck disable=SC2034
clang_packages=(clang-19 clang-format-19 libclang-rt-19-dev llvm-19)

# For `scripts/package`, in addition to those that it needs to build.
# shellcheck disable=SC2034
debian_packages=("${run_packages[@]}" dpkg-dev debhelper dh-python fakeroot lintian mmdebstrap)

# find_missing PACKAGE...: fills the array `missing` with the packages that are not installed. It
# stays empty with FOLIOT_ANY_SYSTEM=1.
find_missing() {
    missing=()
    [[ ${FOLIOT_ANY_SYSTEM:-} != 1 ]] || return 0
    require_debian_12
    local installed package
    # dpkg-query fails if it does not know one of the packages, but prints the others.
    installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
    for package in "$@"; do
        grep -qxF -- "$package installed" <<<"$installed" || missing+=("$package")
    done
}

require_debian_12() {
    local file=${FOLIOT_OS_RELEASE:-/etc/os-release} system
    # shellcheck disable=SC1090  # a file of the system
    system=$(. "$file" 2>/dev/null && printf '%s' "${ID:-}${VERSION_ID:+ $VERSION_ID}") || system=
    [[ $system != "debian 12" ]] || return 0
    say "these scripts need Debian 12, but this system is ${system:-unknown}."
    say "Elsewhere install the libraries that $(shown "$root/scripts/lib/packages.sh")"
    say "lists, and build with CMake in $root:"
    say "    cmake --preset release"
    say "    cmake --build --preset release"
    say "With FOLIOT_ANY_SYSTEM=1 the scripts install nothing and use the installed packages."
    exit 1
}

# Installs the packages in `missing`. Does nothing, and needs no network, if there are none.
install_missing() {
    ((${#missing[@]} > 0)) || return 0
    local log=$root/build/logs/packages.log
    become_root
    step "install packages" "$(about $((10 + 5 * ${#missing[@]})))" "$log" apt_install "${missing[@]}" && return 0
    explain_failure "could not install the packages (is there a network?)" "$log" 10
    exit 1
}

# Fills `as_root` with the prefix that makes a command run as root.
become_root() {
    as_root=()
    if ((EUID == 0)); then
        return
    elif command -v sudo >/dev/null && sudo -n true </dev/null &>/dev/null; then
        as_root=(sudo -n)
    elif command -v sudo >/dev/null && [[ -t 2 ]] && sudo -v </dev/null; then
        as_root=(sudo)
    else
        say "packages are missing and sudo is not available; run as root:"
        fail "    apt-get install ${missing[*]}"
    fi
}

apt_install() {
    update_lists
    local install=(install_packages)
    [[ " $*" != *" postgresql-"* ]] || install=(without_default_database "${install[@]}")
    [[ ! " $* " =~ " "(etcd-server|nginx|haproxy|prometheus)" " ]] || install=(without_services_of_tests "${install[@]}")
    "${install[@]}" "$@"
}

install_packages() {
    apt_get install -y --no-install-recommends "$@"
}

# without_default_database COMMAND...: if the command installs PostgreSQL, Debian makes no server of its own, and so
# starts none. `pg_createcluster` makes one later.
without_default_database() {
    with_setting /etc/postgresql-common/createcluster.d/foliot.conf "create_main_cluster = false" "$@"
}

# without_services_of_tests COMMAND...: if the command installs etcd, nginx, haproxy or prometheus, systemd does not start
# their services, now or with the machine. `systemctl enable --now nginx` starts one later. The installations of nginx and
# of prometheus start them although they are disabled, or without systemd, unless a policy forbids that.
without_services_of_tests() {
    local policy=/usr/sbin/policy-rc.d made="" status=0
    if [[ ! -e $policy ]]; then
        printf '#!/bin/sh\ncase $1 in nginx | prometheus*) exit 101 ;; esac\nexit 0\n' | "${as_root[@]}" tee "$policy" >/dev/null
        "${as_root[@]}" chmod 755 "$policy"
        made=1
    fi
    with_setting /etc/systemd/system-preset/00-foliot.preset \
        $'disable etcd.service\ndisable nginx.service\ndisable haproxy.service\ndisable prometheus.service' "$@" || status=$?
    [[ -z $made ]] || "${as_root[@]}" rm -f "$policy"
    return "$status"
}

# with_setting FILE LINE COMMAND...: runs the command while the file is there, with this line.
with_setting() {
    local file=$1 line=$2 status=0
    shift 2
    "${as_root[@]}" mkdir -p "${file%/*}"
    echo "$line" | "${as_root[@]}" tee "$file" >/dev/null
    "$@" || status=$?
    "${as_root[@]}" rm -f "$file"
    "${as_root[@]}" rmdir --ignore-fail-on-non-empty "${file%/*}"
    return "$status"
}

# A failure is not fatal: the package source that does not answer may not be needed, and the
# installation fails if it is. A machine that has just started may be updating its lists itself:
# apt can wait for the lock of the packages, but not for the lock of the lists.
update_lists() {
    local try output
    for try in {1..24}; do
        if output=$(apt_get update 2>&1); then
            break
        fi
        printf '%s\n' "$output"
        [[ $output == *"Could not get lock"* ]] || break
        echo "waiting for another apt to release the lists, try $try of 24"
        sleep 5
    done
}

apt_get() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
        apt-get -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@"
}
