# shellcheck shell=bash
# The messages of the scripts, and the progress of their steps. All of it goes to stderr: stdout
# belongs to the program that scripts/run starts and to the summary of scripts/test.

say() {
    printf 'foliot: %s\n' "$*" >&2
}

fail() {
    say "$@"
    exit 1
}

# Prints a path, as short as it stays unambiguous from the caller's directory.
shown() {
    realpath --canonicalize-missing --relative-base="$PWD" -- "$1"
}

# Prints a number of seconds, rounded as an estimate should be.
about() {
    if (($1 < 20)); then
        echo "a few seconds"
    elif (($1 < 90)); then
        echo "about $(((($1 + 5) / 10) * 10)) s"
    else
        echo "about $((($1 + 30) / 60)) min"
    fi
}

# step LABEL EXPECTED LOG COMMAND...: runs COMMAND with its output in LOG, and returns its status.
# Says when the step begins and that it is likely to take EXPECTED. While COMMAND runs, a terminal
# shows its last line of output; anything else gets a line with its progress every 30 s.
step() {
    local label=$1 expected=$2 log=$3 start=$SECONDS status=0 show=report
    shift 3
    mkdir -p -- "${log%/*}"
    say "$label: begins, likely to take $expected"
    if [[ -t 2 ]]; then
        show=follow
    fi
    "$@" </dev/null 2>&1 | tee -- "$log" | "$show" "$label" || status=${PIPESTATUS[0]}
    if ((status == 0)); then
        say "$label: done in $((SECONDS - start)) s"
    else
        say "$label: failed after $((SECONDS - start)) s"
    fi
    return "$status"
}

# Reads the output of a step, and every 30 s says how far it is: ninja and ctest begin their lines
# with a count, `[12/640]` or `12/4800`.
report() {
    local label=$1 start=$SECONDS next=$((SECONDS + 30)) line count='' status
    while :; do
        status=0
        IFS= read -r -t $((next > SECONDS ? next - SECONDS : 1)) line || status=$?
        if ((status > 0 && status <= 128)); then
            return 0 # the end of the output; a status above 128 is a timeout
        fi
        if [[ $line =~ ^[[:space:]]*\[?([0-9]+/[0-9]+) ]]; then
            count=" ${BASH_REMATCH[1]}"
        fi
        if ((SECONDS >= next)); then
            say "$label:$count after $((SECONDS - start)) s"
            next=$((SECONDS + 30))
        fi
    done
}

# Shows each line of input over the one before it.
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
