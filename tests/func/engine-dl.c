/* dlopen and dlclose of different libraries at the same address.
 * usage: engine-dl LIBRARY LIBRARY
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	if (argc != 3)
		return 1;
	int x = 1, same = 0;
	uintptr_t last = 0;
	for (int i = 0; i < 40; i++) {
		void *const lib = dlopen(argv[1 + i % 2], RTLD_NOW);
		if (!lib) {
			printf("%s\n", dlerror());
			return 1;
		}
		int (*const value)(int) = (int (*)(int))(uintptr_t)dlsym(lib, "value");
		for (int k = 0; k < 5; k++)
			x = value(x) & 0xffff;
		same += (uintptr_t)value == last;
		last = (uintptr_t)value;
		dlclose(lib);
	}
	printf("x %d, same address %d times\n", x, same);
	printf("missing: %s\n", dlopen("/nonexistent.so", RTLD_NOW) ? "loaded" : "refused");
	return 0;
}
