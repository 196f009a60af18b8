#!/bin/sh
# Builds a fuzz target with clang and runs it on its corpus.
# usage: run-fuzz.sh SOURCE-DIR TARGET [RUNS [SEED]]
#
# TARGET: profile, codeprofile, events, json, sysfs or result (fuzz-TARGET.c, corpus-TARGET). The seed is fixed,
# so that two calls try the same inputs; `make test-all` gives more runs and another seed.
set -u
src=$1 target=$2 runs=${3:-20000} seed=${4:-1}
clang=
for c in clang clang-19 clang-17 clang-16 clang-15 clang-14; do
	command -v $c >/dev/null 2>&1 && clang=$c && break
done
if [ -z "$clang" ]; then
	echo "clang is not installed"
	exit 77
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
if ! echo 'int LLVMFuzzerTestOneInput(const char *b, long n); int LLVMFuzzerTestOneInput(const char *b, long n) { return 0; }' |
	$clang -fsanitize=fuzzer,address -x c - -o "$dir/probe" >"$dir/log" 2>&1; then
	echo "no libFuzzer here (libclang-rt-dev is missing)"
	exit 77
fi
# The rooms that the target is about, and the folders of tests that are inputs, too.
more='' cmd='' inputs=''
case $target in
profile)
	rooms="base profile analysis"
	inputs="$src/tests/fixtures/profile"
	;;
codeprofile) rooms="base symbol codeprofile" ;;
events) rooms="base cpu event" ;;
json) rooms="base" ;;
sysfs) rooms="base cpu event counter" ;;
result)
	rooms="base"
	cmd="compare-load compare-judge compare-environment compare-show summary sha256 threshold complain options term"
	;;
*)
	echo "no such target: $target"
	exit 1
	;;
esac
machine=$(uname -m)
for room in $rooms; do
	more="$more -I$src/src/$room"
	for f in "$src/src/$room"/*.c "$src/src/$room/$machine"/*.c; do
		# libpfm4 is a world of its own; a profile is not made from a run here
		case $f in */event-pfm.c | */codeprofile-make.c | */codeprofile-contexts.c | */codeprofile-naming.c | */stop-*.c | *"*"*)
			continue
			;;
		esac
		more="$more $f"
	done
done
for f in $cmd; do
	more="$more -I$src/cmd $src/cmd/$f.c"
done
# shellcheck disable=SC2086 # lists of words
$clang -g -O1 -std=gnu11 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-I"$src/include" "$src/tests/fuzz/fuzz-$target.c" $more -lm -lpthread -o "$dir/fuzz" || exit 1
mkdir "$dir/found"
# shellcheck disable=SC2086 # a list of words
"$dir/fuzz" "$dir/found" "$src/tests/fuzz/corpus-$target" $inputs -runs="$runs" -seed="$seed" -timeout=120 \
	-rss_limit_mb=1024 -max_len=8192 -artifact_prefix="$dir/" >"$dir/log" 2>&1
status=$?
tail -n 3 "$dir/log"
if [ $status -ne 0 ]; then
	grep -v '^#' "$dir/log"
	for f in "$dir"/crash-* "$dir"/timeout-* "$dir"/oom-* "$dir"/leak-*; do
		[ -e "$f" ] && { echo "input: $f"; base64 "$f"; }
	done
	exit 1
fi
exit 0
