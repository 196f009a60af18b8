// Exceptions, for tests/engine/calls.py: thrown through frames, with a cleanup, caught in a loop.
#ifdef __clang__
#define ALONE __attribute__((noinline, optnone))
#else
#define ALONE __attribute__((noinline, noclone, noipa))
#endif
#define FUNCTION ALONE void

static volatile long sink;

extern "C" {
FUNCTION leaf() { sink = sink + 1; }
FUNCTION leaf2() { sink = sink + 2; }
FUNCTION throws(int depth)
{
	struct cleanup {
		~cleanup() { leaf2(); }
	} c;
	if (!depth)
		throw 7;
	throws(depth - 1);
	sink = sink + 1;
}
FUNCTION catches()
{
	try {
		throws(3);
	} catch (int) {
		leaf();
	}
	leaf();
}
}

int main()
{
	for (int i = 0; i < 5; i++)
		catches();
	leaf2();
	return 0;
}
