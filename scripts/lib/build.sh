# shellcheck shell=bash
# Configuring and building a preset. Uses say.sh.
: "${root:?the directory of the checkout}"

# ninja and ctest handle an interrupt themselves; without this trap the script would go on.
trap 'exit 130' INT

# ccache, where it is installed, keeps what the compilers make, also with precompiled headers; without debug information
# also for another checkout.
if command -v ccache >/dev/null && [[ -z ${CMAKE_CXX_COMPILER_LAUNCHER-} ]]; then
    export CMAKE_CXX_COMPILER_LAUNCHER=$root/scripts/lib/cached_compiler CMAKE_C_COMPILER_LAUNCHER=ccache
    export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root}
fi
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}

# The processor time in milliseconds that an object file of a preset takes on average, linking
# included, without a compiler cache.
declare -A object_costs=([release]=2600 [asan]=2600 [tsan]=4500 [clang]=3700)

# Two scripts at once, as in `scripts/run ... | scripts/run ...`, take turns: ninja cannot share
# a build directory.
lock_build() {
    if ! mkdir -p -- "$root/build/logs" || [[ ! -w $root/build || ! -w $root/build/logs ]]; then
        fail "cannot write to $(shown "$root/build"); does it belong to another user?"
    fi
    exec {build_lock}>"$root/build/.lock"
    command -v flock >/dev/null || return 0
    flock -n "$build_lock" && return 0
    say "waiting until another script has built in $(shown "$root/build")"
    flock "$build_lock"
}

unlock_build() {
    exec {build_lock}>&-
}

# prepare PRESET [TARGET...]: configures the preset if necessary, and builds it. Explains a failure.
prepare() {
    local preset=$1
    await_ahead "$preset"
    configure "$preset" && build "$@"
}

# build_ahead PRESET: begins to build a preset beside the tests of another, with the processor time that these leave:
# many tests wait. `prepare PRESET` waits for the end. Does nothing where memory has no room for both.
ahead=
build_ahead() {
    local preset=$1 jobs
    jobs=$(build_jobs)
    (($(free_memory_kib) >= 2 * jobs * compiler_kib)) || return 0
    say "build $preset: begins beside the tests"
    # A process group of its own, so that stop_ahead reaches the compilers, but in the session of the tests: Linux
    # weighs processes by their niceness within a session.
    set -m
    (
        renice --priority 19 "$BASHPID" >/dev/null
        in_root cmake --preset "$preset" && in_root cmake --build --preset "$preset" --parallel "$jobs"
    ) </dev/null >"$root/build/logs/$preset-ahead.log" 2>&1 &
    set +m
    ahead=$!
}

# Waits for what build_ahead began. Its failures are those of the build that follows.
await_ahead() {
    [[ -n $ahead ]] || return 0
    if kill -0 "$ahead" 2>/dev/null; then
        step "build $1" "$(build_estimate "$1" "$(build_jobs)")" "$root/build/logs/$1-build.log" \
            tail -n +1 -f --pid="$ahead" -- "$root/build/logs/$1-ahead.log" || true
    fi
    wait "$ahead" || true
    ahead=
}

stop_ahead() {
    [[ -z $ahead ]] || kill -- "-$ahead" 2>/dev/null || true
}

# ninja runs cmake again by itself when a CMakeLists.txt changed, but does not watch the presets.
configure() {
    local preset=$1 log=$root/build/logs/$1-configure.log
    if [[ $root/build/$preset/build.ninja -nt $root/CMakePresets.json ]]; then
        return 0
    fi
    step "configure $preset" "$(about 10)" "$log" in_root cmake --preset "$preset" && return 0
    explain_failure "could not configure the preset $preset" "$log"
    return 1
}

build() {
    local preset=$1 log=$root/build/logs/$1-build.log jobs
    jobs=$(build_jobs)
    local command=(cmake --build --preset "$preset" --parallel "$jobs")
    shift
    if (($# > 0)); then
        command+=(--target "$@")
    fi
    step "build $preset" "$(build_estimate "$preset" "$jobs" "$@")" "$log" in_root "${command[@]}" && return 0
    explain_failure "could not build the preset $preset" "$log"
    return 1
}

# build_estimate PRESET JOBS [TARGET...]: prints how long the build is likely to take, from the
# number of object files that are missing.
build_estimate() {
    local directory=$root/build/$1 cost=${object_costs[$1]:-1500} jobs=$2 object missing=0
    shift 2
    while read -r object; do
        [[ -e $directory/$object ]] || missing=$((missing + 1))
    done < <(ninja -C "$directory" -t inputs "${@:-all}" 2>/dev/null | grep '\.o$')
    if ((missing == 0)); then
        echo "as long as the changed files need"
    else
        about $((missing * cost / 1000 / jobs))
    fi
}

# Runs a command in the root, where cmake looks for presets. A subshell, so that the caller stays
# in its own directory.
in_root() (
    cd -- "$root" || exit
    exec "$@"
)

# What a compiler takes at most.
compiler_kib=$((1536 * 1024))

# Prints the number of parallel jobs: one for each core, but no more than the memory has room for.
build_jobs() {
    local cores by_memory
    cores=$(nproc)
    by_memory=$(($(free_memory_kib) / compiler_kib))
    ((by_memory > 0)) || by_memory=1
    echo $((cores < by_memory ? cores : by_memory))
}

# Prints the free memory of the machine, or the limit of the container if that is less.
free_memory_kib() {
    local free limit
    free=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo 2>/dev/null || true)
    free=${free:-$compiler_kib} # unknown: enough for one job
    limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
    if [[ $limit != max ]] && ((limit / 1024 < free)); then
        free=$((limit / 1024))
    fi
    echo "$free"
}
