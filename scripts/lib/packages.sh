# shellcheck shell=bash
# The Debian packages that foliot needs, and their installation. Uses say.sh.
: "${root:?the directory of the checkout}"

# To build and run the program. The preset `release` configures tests and benchmarks too.
# shellcheck disable=SC2034  # for the scripts that read this file
run_packages=(
    g++ cmake ninja-build git ca-certificates pkg-config
    libcli11-dev libfmt-dev nlohmann-json3-dev zlib1g-dev
    libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev python3
    libuv1-dev libev-dev libevent-dev libasio-dev libjs-chart.js # for `foliot bench`, and the adapters
    systemtap-sdt-dev # <sys/sdt.h>, for the probes
)

# To test with every preset, added to those above.
# shellcheck disable=SC2034
test_packages=(
    clang-19 clang-format-19 libclang-rt-19-dev llvm-19 chromium spin
    python3-prometheus-client
)

# find_missing PACKAGE...: fills the array `missing`. It stays empty where the caller asked that
# the system be taken as it is.
find_missing() {
    missing=()
    [[ ${FOLIOT_ANY_SYSTEM:-} != 1 ]] || return 0
    require_debian_12
    local installed package
    # dpkg-query fails if it has never heard of one of them, but answers for the others.
    installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
    for package in "$@"; do
        grep -qxF -- "$package installed" <<<"$installed" || missing+=("$package")
    done
}

require_debian_12() {
    local file=${FOLIOT_OS_RELEASE:-/etc/os-release} system
    # shellcheck disable=SC1090  # the system's file, whatever it says
    system=$(. "$file" 2>/dev/null && printf '%s' "${ID:-}${VERSION_ID:+ $VERSION_ID}") || system=
    [[ $system != "debian 12" ]] || return 0
    say "these scripts are for Debian 12, and this is ${system:-another system}."
    say "foliot itself builds with CMake elsewhere, once you have the libraries that"
    say "$(shown "$root/scripts/lib/packages.sh") names. In $root:"
    say "    cmake --preset release"
    say "    cmake --build --preset release"
    say "With FOLIOT_ANY_SYSTEM=1 the scripts go on with what is installed."
    exit 1
}

# Installs what find_missing found. Calls nothing at all, and needs no network, if that is nothing.
install_missing() {
    ((${#missing[@]} > 0)) || return 0
    local log=$root/build/logs/packages.log
    become_root
    step "install packages" "$log" apt_install "${missing[@]}" && return 0
    explain_failure "the packages could not be installed (is there a network?)" "$log" 10
    exit 1
}

# Fills `as_root` with the command that makes another one run as root.
become_root() {
    as_root=()
    if ((EUID == 0)); then
        return
    elif command -v sudo >/dev/null && sudo -n true </dev/null &>/dev/null; then
        as_root=(sudo -n)
    elif command -v sudo >/dev/null && [[ -t 2 ]] && sudo -v </dev/null; then
        as_root=(sudo)
    else
        say "packages are missing, and without sudo only root can install them:"
        fail "    apt-get install ${missing[*]}"
    fi
}

apt_install() {
    update_lists
    apt_get install -y --no-install-recommends "$@"
}

# Never fatal: a source that does not answer may be one that we do not need, so that the
# installation decides. A machine that has just started may be updating its lists itself; apt
# knows how to wait for the packages' lock, but not for the lists'.
update_lists() {
    local try output
    for try in {1..24}; do
        if output=$(apt_get update 2>&1); then
            break
        fi
        printf '%s\n' "$output"
        [[ $output == *"Could not get lock"* ]] || break
        echo "waiting for another apt, try $try"
        sleep 5
    done
}

apt_get() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
        apt-get -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@"
}
