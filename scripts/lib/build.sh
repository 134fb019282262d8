# shellcheck shell=bash
# Configuring and building a preset. Uses say.sh.
: "${root:?the directory of the checkout}"

# ninja and ctest end in their own way when interrupted; without this the script would go on.
trap 'exit 130' INT

# Two scripts at once, as in `scripts/run ... | scripts/run ...`, take turns: ninja cannot share
# a build directory.
lock_build() {
    if ! mkdir -p -- "$root/build/logs" || [[ ! -w $root/build || ! -w $root/build/logs ]]; then
        fail "cannot write to $(shown "$root/build"): was it made by another user?"
    fi
    exec {build_lock}>"$root/build/.lock"
    command -v flock >/dev/null || return 0
    flock -n "$build_lock" && return 0
    say "waiting for another script that builds in $(shown "$root/build")"
    flock "$build_lock"
}

unlock_build() {
    exec {build_lock}>&-
}

# prepare PRESET [TARGET...]: configures where needed and builds. Says why where it fails.
prepare() {
    local preset=$1
    configure "$preset" && build "$@"
}

# ninja runs cmake again by itself when a CMakeLists.txt changed, but does not watch the presets.
configure() {
    local preset=$1 log=$root/build/logs/$1-configure.log
    if [[ $root/build/$preset/build.ninja -nt $root/CMakePresets.json ]]; then
        return 0
    fi
    step "configure $preset" "$log" in_root cmake --preset "$preset" && return 0
    explain_failure "could not configure the preset $preset" "$log"
    return 1
}

build() {
    local preset=$1 log=$root/build/logs/$1-build.log
    local command=(cmake --build --preset "$preset" --parallel "$(build_jobs)")
    shift
    if (($# > 0)); then
        command+=(--target "$@")
    fi
    step "build $preset" "$log" in_root "${command[@]}" && return 0
    explain_failure "could not build the preset $preset" "$log"
    return 1
}

# A subshell, so that the caller stays in its directory. cmake finds presets only from the root.
in_root() (
    cd -- "$root" || exit
    exec "$@"
)

# A job for each core, as far as the memory reaches: a compiler takes up to 1.5 GiB.
build_jobs() {
    local cores by_memory
    cores=$(nproc)
    by_memory=$(($(free_memory_kib) / (1536 * 1024)))
    ((by_memory > 0)) || by_memory=1
    echo $((cores < by_memory ? cores : by_memory))
}

# What the machine has free, or less if a container's limit says so.
free_memory_kib() {
    local free limit
    free=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo 2>/dev/null || true)
    free=${free:-$((1536 * 1024))} # one job, where nobody tells
    limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
    if [[ $limit != max ]] && ((limit / 1024 < free)); then
        free=$((limit / 1024))
    fi
    echo "$free"
}
