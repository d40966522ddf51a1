#!/usr/bin/python3
"""scipy, with results that are known otherwise: its Fortran and C++ parts, its threads and its processes."""

import unittest

import numpy as np
from scipy import fft, integrate, interpolate, io, linalg, ndimage
from scipy import optimize, signal, sparse, spatial, special, stats
from scipy.sparse import linalg as sparse_linalg


class Optimize(unittest.TestCase):
    def test_minimum(self):
        for method in "BFGS", "L-BFGS-B", "Nelder-Mead", "SLSQP":
            with self.subTest(method):
                found = optimize.minimize(optimize.rosen, [-1.2, 1], method=method, options={"maxiter": 1000})
                np.testing.assert_allclose(found.x, [1, 1], atol=1e-3)

    def test_root(self):
        self.assertAlmostEqual(optimize.brentq(lambda x: x * x - 2, 0, 2), 2**0.5)

    def test_fit(self):
        x = np.linspace(0, 4, 50)
        (height, rate), _ = optimize.curve_fit(lambda x, a, b: a * np.exp(-b * x), x, 2.5 * np.exp(-1.3 * x))
        np.testing.assert_allclose([height, rate], [2.5, 1.3])

    def test_linear_program(self):
        found = optimize.linprog([-3, -5], [[1, 0], [0, 2], [3, 2]], [4, 12, 18])
        np.testing.assert_allclose([*found.x, found.fun], [2, 6, -36])

    def test_worker_processes(self):
        found = optimize.differential_evolution(
            optimize.rosen, [(-2, 2)] * 2, seed=1, workers=2, updating="deferred", maxiter=60
        )
        np.testing.assert_allclose(found.x, [1, 1], atol=1e-3)


class Statistics(unittest.TestCase):
    def test_distributions(self):
        np.testing.assert_allclose(stats.norm.ppf(0.975), 1.959963984540054)
        np.testing.assert_allclose(stats.t.sf(2.228138852, 10), 0.025, rtol=1e-8)
        np.testing.assert_allclose(stats.chi2.cdf(3.841458820694124, 1), 0.95)

    def test_tests(self):
        # Student's sleep data, 1908.
        first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
        second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
        np.testing.assert_allclose(stats.ttest_rel(first, second), [-4.062127683, 0.002832890], rtol=1e-7)
        np.testing.assert_allclose(stats.ttest_ind(first, second), [-1.860813467, 0.079186714], rtol=1e-7)

    def test_regression(self):
        line = stats.linregress([1, 2, 3, 4, 5], [2, 4, 5, 4, 5])
        np.testing.assert_allclose([line.slope, line.intercept, line.rvalue**2], [0.6, 2.2, 0.6])


class Matrices(unittest.TestCase):
    def test_sparse(self):
        n = 200
        a = sparse.diags([-1, 2, -1], [-1, 0, 1], (n, n), "csc")
        x = np.sin(np.arange(n))
        np.testing.assert_allclose(sparse_linalg.spsolve(a, a @ x), x, atol=1e-9)
        largest = sparse_linalg.eigsh(a, 1, return_eigenvectors=False)
        np.testing.assert_allclose(largest, 2 + 2 * np.cos(np.pi / (n + 1)))

    def test_dense(self):
        rotation = linalg.expm([[0, -np.pi / 2], [np.pi / 2, 0]])
        np.testing.assert_allclose(rotation, [[0, -1], [1, 0]], atol=1e-12)
        np.testing.assert_allclose(linalg.cholesky([[4, 2], [2, 5]], lower=True), [[2, 0], [1, 2]])


class Analysis(unittest.TestCase):
    def test_integrals(self):
        area, _ = integrate.quad(lambda x: np.exp(-x * x), -np.inf, np.inf)
        np.testing.assert_allclose(area, np.sqrt(np.pi))
        turn, precise = lambda _, y: [y[1], -y[0]], {"rtol": 1e-9, "atol": 1e-9}
        circle = integrate.solve_ivp(turn, (0, np.pi), [1, 0], "LSODA", **precise)
        np.testing.assert_allclose(circle.y[:, -1], [-1, 0], atol=1e-6)

    def test_functions(self):
        np.testing.assert_allclose(special.gamma(0.5) ** 2, np.pi)
        np.testing.assert_allclose(special.jn_zeros(0, 2), [2.404825557695773, 5.520078110286311])

    def test_interpolation_and_filters(self):
        x = np.linspace(0, np.pi, 30)
        np.testing.assert_allclose(interpolate.CubicSpline(x, np.sin(x))(1.0), np.sin(1.0), rtol=1e-4)
        steps = signal.sosfiltfilt(signal.butter(4, 0.1, output="sos"), np.ones(200))
        np.testing.assert_allclose(steps, 1, atol=1e-6)
        self.assertEqual(ndimage.label([[1, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 1]])[1], 3)

    def test_threads(self):
        x = np.random.default_rng(3).standard_normal((256, 256))
        np.testing.assert_allclose(fft.ifft2(fft.fft2(x, workers=2), workers=2).real, x, atol=1e-12)
        distance, _ = spatial.cKDTree(x).query(x, workers=2)
        self.assertEqual(distance.max(), 0)

    def test_files(self):
        io.savemat("/work/matrix.mat", {"m": np.eye(3)})
        np.testing.assert_array_equal(io.loadmat("/work/matrix.mat")["m"], np.eye(3))


if __name__ == "__main__":
    unittest.main(verbosity=2)
