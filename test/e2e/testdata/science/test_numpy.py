#!/usr/bin/python3
"""numpy: BLAS and LAPACK, Fourier transforms, random numbers, arrays mapped from files."""

import os
import unittest

import numpy as np


class LinearAlgebra(unittest.TestCase):
    def setUp(self):
        self.a = np.random.default_rng(1).standard_normal((400, 400))
        self.symmetric = self.a + self.a.T

    def test_product(self):
        # einsum without optimize does not go through BLAS.
        np.testing.assert_allclose(self.a @ self.a, np.einsum("ij,jk->ik", self.a, self.a), atol=1e-9)

    def test_solve(self):
        x = np.arange(400.0)
        np.testing.assert_allclose(np.linalg.solve(self.a, self.a @ x), x, atol=1e-8)
        np.testing.assert_allclose(np.linalg.inv(self.a) @ self.a, np.eye(400), atol=1e-8)

    def test_eigenvalues(self):
        values, vectors = np.linalg.eigh(self.symmetric)
        np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, self.symmetric, atol=1e-9)
        # Of the second difference they are known: 2 - 2 cos(k pi / (n + 1)).
        n = 50
        difference = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
        known = 2 - 2 * np.cos(np.arange(1, n + 1) * np.pi / (n + 1))
        np.testing.assert_allclose(np.linalg.eigvalsh(difference), known, atol=1e-12)

    def test_decompositions(self):
        u, s, v = np.linalg.svd(self.a)
        np.testing.assert_allclose(u * s @ v, self.a, atol=1e-9)
        q, r = np.linalg.qr(self.a)
        np.testing.assert_allclose(q @ r, self.a, atol=1e-9)
        np.testing.assert_allclose(np.linalg.det([[2, 1, 0], [1, 3, 1], [0, 1, 4]]), 18)


class Threads(unittest.TestCase):
    def test_number(self):
        a = np.ones((1000, 1000))
        a @ a
        wanted = int(os.environ.get("THREADS", 1))
        self.assertEqual(len(os.listdir("/proc/self/task")), min(wanted, len(os.sched_getaffinity(0))))


class Numbers(unittest.TestCase):
    def test_fourier(self):
        t = np.arange(1024) / 1024
        spectrum = np.abs(np.fft.rfft(3 * np.cos(2 * np.pi * 50 * t) + np.sin(2 * np.pi * 120 * t)))
        self.assertEqual(sorted(np.argsort(spectrum)[-2:]), [50, 120])
        np.testing.assert_allclose(spectrum[[50, 120]], [1536, 512], atol=1e-9)
        x = np.random.default_rng(2).standard_normal((64, 64))
        np.testing.assert_allclose(np.fft.ifft2(np.fft.fft2(x)).real, x, atol=1e-12)

    def test_random(self):
        self.assertEqual(np.random.default_rng(0).integers(0, 1000, 5).tolist(), [850, 636, 511, 269, 307])
        # Without a seed it asks the system for one.
        self.assertFalse(np.array_equal(np.random.default_rng().random(8), np.random.default_rng().random(8)))


class Files(unittest.TestCase):
    def test_read_only_map(self):
        ramp = np.load("/data/ramp.npy", mmap_mode="r")
        self.assertIsInstance(ramp, np.memmap)
        self.assertEqual(ramp.sum(), 499_999_500_000)
        with self.assertRaises(ValueError):
            ramp[0, 0] = 1
        private = np.load("/data/ramp.npy", mmap_mode="c")
        private[0, 0] = 1
        self.assertEqual((private[0, 0], ramp[0, 0]), (1, 0))

    def test_data_cannot_be_mapped_for_writing(self):
        with self.assertRaises(OSError):
            np.load("/data/ramp.npy", mmap_mode="r+")

    def test_writable_map(self):
        made = np.lib.format.open_memmap("/work/made.npy", "w+", np.float64, (1000, 1000))
        made[:] = np.load("data/ramp.npy")
        made.flush()
        again = np.load("/work/made.npy", mmap_mode="r+")
        again *= 2
        again.flush()
        self.assertEqual(np.load("/work/made.npy").sum(), 999_999_000_000)

    def test_formats(self):
        np.savez_compressed("/work/two.npz", a=np.arange(5), b=np.eye(2))
        with np.load("/work/two.npz") as two:
            self.assertEqual((two["a"].sum(), two["b"].trace()), (10, 2))
        np.savetxt("/tmp/text.csv", np.eye(3), delimiter=",")
        np.testing.assert_array_equal(np.loadtxt("/tmp/text.csv", delimiter=","), np.eye(3))
        self.assertEqual(np.fromfile("/data/bytes.bin", np.uint8).sum(), 4096 * 255 * 128)


if __name__ == "__main__":
    unittest.main(verbosity=2)
