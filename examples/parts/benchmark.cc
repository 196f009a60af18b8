/* google-benchmark (Debian: libbenchmark-dev) says how long it takes, tare how many instructions it is:
 *
 *	c++ -O2 benchmark.cc -o benchmark -lbenchmark -lpthread $(pkg-config --cflags tare)
 *	tare stat --delay -1 -e instructions:u ./benchmark --benchmark_filter=sort
 *
 * The library's own work, and what an iteration prepares, is left out. The number of iterations is
 * fixed: otherwise the library chooses it by the time, and the counts would differ. Each benchmark
 * dumps, so that it has a result of its own. */
#include <tare/region.h>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

static std::vector<unsigned> numbers(size_t n)
{
	std::vector<unsigned> v(n);
	unsigned seed = 1;
	for (auto &x : v)
		x = seed = seed * 1664525u + 1013904223u;
	return v;
}

static void sort_numbers(benchmark::State &state)
{
	for (auto _ : state) {
		auto v = numbers(static_cast<size_t>(state.range(0)));
		tare_region_start();
		std::sort(v.begin(), v.end());
		tare_region_stop();
		benchmark::DoNotOptimize(v.data());
	}
	tare_region_dump("sort");
}
BENCHMARK(sort_numbers)->Arg(1000)->Iterations(20);

BENCHMARK_MAIN();
