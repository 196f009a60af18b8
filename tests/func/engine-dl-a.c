/* One of two libraries that engine-dl loads at the same address in turn. */
int value(int x);
int value(int x)
{
	return WHICH == 1 ? x + 1 : x * 3 - 2;
}
