/* OpenMP: loops, reductions and tasks over as many threads as are asked for. */
#include <omp.h>
#include <math.h>
#include "check.h"

#define N 4000000L

TEST(default_threads)
{
	int team = 0, wanted = getenv("THREADS") ? atoi(getenv("THREADS")) : 1;

	CHECK(omp_get_max_threads() == wanted);
#pragma omp parallel
#pragma omp single
	team = omp_get_num_threads();
	CHECK(team == wanted);
}

TEST(reduction)
{
	long sum = 0, i;
	double pi = 0;

#pragma omp parallel for reduction(+ : sum, pi) num_threads(4)
	for (i = 0; i < N; i++) {
		sum += i;
		pi += 4.0 / (1 + (i + 0.5) / N * ((i + 0.5) / N)) / N;
	}
	CHECK(sum == N * (N - 1) / 2);
	CHECK(fabs(pi - M_PI) < 1e-9);
}

TEST(scheduling)
{
	static int owner[1000];
	int seen[8] = { 0 }, team = 0, i;

#pragma omp parallel for schedule(static, 1) num_threads(8)
	for (i = 0; i < 1000; i++)
		owner[i] = omp_get_thread_num();
	for (i = 0; i < 1000; i++)
		seen[owner[i]]++;
	for (i = 0; i < 8; i++)
		team += seen[i] == 125;
	CHECK(team == 8);
}

static long fibonacci(int n)
{
	long a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a)
	a = fibonacci(n - 1);
	b = fibonacci(n - 2);
#pragma omp taskwait
	return a + b;
}

TEST(tasks)
{
	long result = 0;

#pragma omp parallel num_threads(4)
#pragma omp single
	result = fibonacci(18);
	CHECK(result == 2584);
}

TEST(synchronisation)
{
	int inside = 0, most = 0, total = 0;
	omp_lock_t lock;

	omp_init_lock(&lock);
#pragma omp parallel num_threads(8)
	for (int i = 0; i < 500; i++) {
		omp_set_lock(&lock);
		most = ++inside > most ? inside : most;
		inside--;
		omp_unset_lock(&lock);
#pragma omp atomic
		total++;
	}
	CHECK(most == 1);
	CHECK(total == 4000);
}

TEST(binding)
{
	int places = 0;

#pragma omp parallel proc_bind(spread) num_threads(2)
#pragma omp atomic
	places++;
	CHECK(places == 2);
	CHECK(omp_get_num_procs() >= 1);
}
