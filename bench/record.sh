#!/bin/sh
# What recording an interval costs: instructions of begin and end, of these two reads of
# the counter with the test which it is, the rest; and ns, page writes included. Inside the
# engine, so that every machine can count; the ns are the engine's.
# usage: bench/record.sh BUILD
set -eu
build=$1
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# shellcheck disable=SC2046 # one word or several
cc -O2 -I"$here/../include" -o "$dir/cost" "$here/record-cost.c" "$build/src/libtare.a" -pthread -lm \
	$(pkg-config --libs libpfm 2>/dev/null || echo -lpfm)
printf '%-28s %8s %8s %8s %8s\n' counter all 'two reads' rest 'ns'
cd "$dir"
for counter in instructions:u instructions-minus-irqs:u wall-time; do
	"$build/tare" run --cpu zen2 -- ./cost "$counter" 1000000
done
