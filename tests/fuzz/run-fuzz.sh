#!/bin/sh
# Builds the fuzz target with clang and runs it on the corpus for a while.
# usage: run-fuzz.sh SOURCE-DIR SECONDS
set -u
src=$1 seconds=$2
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
	echo "clang has no libFuzzer here (libclang-rt-dev is missing)"
	exit 77
fi
# shellcheck disable=SC2086
$clang -g -O1 -std=gnu11 -D_GNU_SOURCE \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-I"$src/include" -I"$src/src/base" -I"$src/src/profile" -I"$src/src/analysis" \
	"$src/tests/fuzz/fuzz-profile.c" "$src"/src/base/*.c "$src"/src/profile/*.c \
	"$src"/src/analysis/*.c -lm -o "$dir/fuzz" || exit 1
mkdir "$dir/found"
cp -r "$src/tests/fuzz/corpus" "$dir/corpus"
"$dir/fuzz" "$dir/found" "$dir/corpus" "$src/tests/fixtures/profile" -max_total_time="$seconds" \
	-timeout=10 -rss_limit_mb=1024 -max_len=8192 -artifact_prefix="$dir/" >"$dir/log" 2>&1
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
