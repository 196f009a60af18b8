#!/bin/sh
# Fails when a command executes more than it did when its baseline was made.
#
#   check-counts.sh BASELINE.json COMMAND [ARGUMENT]…
#
# The command is counted, the result is kept as BASELINE.new.json and compared with
# BASELINE.json: exit status 0 the same or better, 1 a regression, 2 cannot compare.
# A missing baseline is status 2: nothing was compared. To make a baseline, or to accept
# a change, copy the new file over it and commit it:
#
#   mv BASELINE.new.json BASELINE.json
#
#   TARE         the program                       (tare)
#   TARE_EVENTS  what is counted                   (instructions:u)
#   TARE_RUNS    how often                         (5)
#   TARE_KEEP    variables the command needs       (none), for example
#                "CARGO_HOME PYTHONHASHSEED"; it sees no others of yours
#   TARE_ARGS    options of `tare compare`         (none), for example
#                -T instructions:u=0.1%
#   TARE_REPORT  file for a Markdown report        (none), for example
#                $GITHUB_STEP_SUMMARY
set -u
tare=${TARE:-tare}
[ $# -ge 2 ] || {
	echo "usage: $0 BASELINE.json COMMAND [ARGUMENT]..." >&2
	exit 2
}
baseline=$1
result=${baseline%.json}.new.json
shift

report() {
	[ -z "${TARE_REPORT:-}" ] || cat >>"$TARE_REPORT"
}

# A name as a shell wants it typed.
quoted() {
	case $1 in
	*[!A-Za-z0-9_./+-]*) printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
	*) printf '%s' "$1" ;;
	esac
}

# Libraries choose code by CPU; runners differ. Without this the same program executes
# other instructions on another machine. (x86; harmless elsewhere.)
GLIBC_TUNABLES=${GLIBC_TUNABLES:-glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS,-FSRM}
export GLIBC_TUNABLES
keep='--keep GLIBC_TUNABLES'
for variable in ${TARE_KEEP:-}; do
	keep="$keep --keep $variable"
done

# --clean-env: the environment of a runner has another size every time.
# shellcheck disable=SC2086 # a list of words
"$tare" stat -j -o "$result" -e "${TARE_EVENTS:-instructions:u}" -r "${TARE_RUNS:-5}" \
	--clean-env $keep -- "$@" || {
	echo "$0: the command failed, so nothing was compared" >&2
	echo "**Nothing was compared**: \`$*\` failed." | report
	exit 2
}
if [ ! -e "$baseline" ]; then
	echo "$0: NOTHING WAS COMPARED: there is no $baseline" >&2
	echo "To make it: mv $(quoted "$result") $(quoted "$baseline"), and commit it." >&2
	echo "**Nothing was compared**: there is no \`$baseline\`; \`$result\` can become it." | report
	exit 2
fi
# shellcheck disable=SC2086 # a list of words
set -- ${TARE_ARGS:-} "$baseline" "$result"
[ -z "${TARE_REPORT:-}" ] || "$tare" compare -f markdown "$@" | report
"$tare" compare "$@"
