/* C++ exceptions: through many frames, rethrown, out of threads and of callbacks,
 * with destructors in between. usage: engine-exceptions [ROUNDS [alone]]; alone: without a thread */
#include <algorithm>
#include <cstdio>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

static int destroyed;
struct Guard {
	~Guard() { destroyed++; }
};

static int dive(int n)
{
	Guard g;
	if (n == 0)
		throw std::runtime_error("bottom");
	return dive(n - 1) + 1;
}

static int rethrow(int n)
{
	try {
		return dive(n);
	} catch (const std::exception &) {
		if (n % 2)
			throw;
		return -1;
	}
}

int main(int argc, char **argv)
{
	int caught = 0;
	const int rounds = argc > 1 ? std::stoi(argv[1]) : 300;
	for (int i = 0; i < rounds; i++) {
		try {
			rethrow(i % 40);
		} catch (const std::runtime_error &e) {
			caught += e.what()[0] == 'b';
		}
	}
	printf("caught %d destroyed %d\n", caught, destroyed);
	try {
		if (argc > 2)
			dive(5);
		std::async(std::launch::async, [] { return dive(5); }).get();
	} catch (const std::exception &e) {
		printf("from a thread: %s\n", e.what());
	}
	std::vector<int> v = { 3, 1, 2 };
	try {
		std::sort(v.begin(), v.end(), [](int a, int b) -> bool {
			if (a == 2 || b == 2)
				throw std::string("two");
			return a < b;
		});
	} catch (const std::string &s) {
		printf("out of a callback: %s\n", s.c_str());
	}
	try {
		(void)std::vector<int>().at(3);
	} catch (const std::out_of_range &) {
		printf("out of range\n");
	}
	try {
		try {
			throw 1;
		} catch (int) {
			std::throw_with_nested(std::logic_error("outer"));
		}
	} catch (const std::exception &e) {
		printf("nested: %s\n", e.what());
	}
	return 0;
}
