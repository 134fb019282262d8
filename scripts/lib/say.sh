# shellcheck shell=bash
# What the scripts say, and how they show a step. All of it goes to stderr: stdout belongs to the
# program that scripts/run starts and to the summary of scripts/test.

say() {
    printf 'foliot: %s\n' "$*" >&2
}

fail() {
    say "$@"
    exit 1
}

# A path as short as it stays unambiguous from the caller's directory.
shown() {
    realpath --canonicalize-missing --relative-base="$PWD" -- "$1"
}

# step LABEL LOG COMMAND...: runs COMMAND with its output in LOG, and returns its status.
# A terminal sees one line that moves; anything else gets one line with the seconds it took.
step() {
    local label=$1 log=$2 start=$SECONDS status=0
    shift 2
    mkdir -p -- "${log%/*}"
    if [[ -t 2 ]]; then
        "$@" </dev/null 2>&1 | tee -- "$log" | follow "$label" || status=${PIPESTATUS[0]}
    else
        "$@" </dev/null >"$log" 2>&1 || status=$?
    fi
    if ((status == 0)); then
        say "$label: $((SECONDS - start)) s"
    fi
    return "$status"
}

# Shows each line that comes in over the one before it.
follow() {
    local label=$1 columns line
    read -r _ columns < <(stty size <&2 2>/dev/null || echo 24 80)
    ((columns > 0)) || columns=80
    while IFS= read -r line; do
        line="$label: ${line//[[:cntrl:]]/ }"
        printf '\r\033[K%s' "${line:0:columns-1}" >&2
    done
    printf '\r\033[K' >&2
}

# explain_failure SENTENCE LOG [LINES]: the sentence, then the end of the log.
explain_failure() {
    say "$1; the last lines of $(shown "$2"):"
    tail -n "${3:-40}" -- "$2" >&2
}
