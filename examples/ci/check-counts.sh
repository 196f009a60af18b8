#!/bin/sh
# Fails when a command executes more than it did when its baseline was made.
#
#   check-counts.sh BASELINE COMMAND [ARGUMENT]…
#
# Without a file BASELINE, one is made; commit it. Afterwards the command is counted
# again and compared: 0 the same or better, 1 a regression, 2 cannot compare. To accept
# a change, remove the file and run again.
#
#   TARE         the program                       (tare)
#   TARE_EVENTS  what is counted                   (instructions:u)
#   TARE_RUNS    how often                         (3)
#   TARE_ARGS    options of `tare compare`         (none), for example
#                -T instructions:u=0.1%
#   TARE_REPORT  file for a Markdown report        (none), for example
#                $GITHUB_STEP_SUMMARY
set -u
tare=${TARE:-tare}
[ $# -ge 2 ] || {
	echo "usage: $0 BASELINE COMMAND [ARGUMENT]..." >&2
	exit 2
}
baseline=$1
shift

# Libraries choose code by CPU; runners differ. Without this the same program executes
# other instructions on another machine. (x86; harmless elsewhere.)
GLIBC_TUNABLES=${GLIBC_TUNABLES:-glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS,-FSRM}
export GLIBC_TUNABLES

result=$(mktemp) || exit 2
trap 'rm -f "$result"' EXIT

"$tare" stat -j -o "$result" -e "${TARE_EVENTS:-instructions:u}" -r "${TARE_RUNS:-3}" -- "$@" || {
	echo "$0: the command failed, so there is nothing to compare" >&2
	exit 2
}
if [ ! -e "$baseline" ]; then
	cp "$result" "$baseline" || exit 2
	echo "made $baseline"
	exit 0
fi
# shellcheck disable=SC2086
set -- ${TARE_ARGS:-} "$baseline" "$result"
[ -z "${TARE_REPORT:-}" ] || "$tare" compare -f markdown "$@" >>"$TARE_REPORT"
"$tare" compare "$@"
