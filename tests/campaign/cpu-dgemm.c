/* Products of matrices by OpenBLAS, which has a kernel for each kind of CPU. Prints the sum of the elements, which
 * are small whole numbers: it is the same for every order of the additions. */
#include <cblas.h>
#include <stdio.h>

#define N 96

int main(void)
{
	static double a[N * N], b[N * N], c[N * N];
	double sum = 0;
	for (int i = 0; i < N * N; i++) {
		a[i] = i % 7;
		b[i] = i % 5;
	}
	for (int i = 0; i < 3; i++)
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, N, N, N, 1, a, N, b, N, 1, c, N);
	for (int i = 0; i < N * N; i++)
		sum += c[i];
	printf("%.0f\n", sum);
	return 0;
}
