#!/usr/bin/python3
"""pandas: reading, grouping, joining and writing tables."""

import sqlite3
import unittest

import numpy as np
import pandas as pd


class Tables(unittest.TestCase):
    def setUp(self):
        self.penguins = pd.read_csv("data/penguins.csv")

    def test_read(self):
        self.assertEqual(self.penguins.shape, (344, 7))
        self.assertEqual(self.penguins.sex.isna().sum(), 11)
        self.assertEqual(str(self.penguins.bill_length_mm.dtype), "float64")
        for again in (
            pd.read_csv("/data/penguins.csv", memory_map=True),
            pd.read_csv("/data/penguins.csv", engine="python"),
            pd.concat(pd.read_csv("/data/penguins.csv", chunksize=50)),
        ):
            pd.testing.assert_frame_equal(self.penguins, again)

    def test_group(self):
        mass = self.penguins.groupby("species").body_mass_g
        self.assertEqual(mass.count().to_dict(), {"Adelie": 151, "Chinstrap": 68, "Gentoo": 123})
        np.testing.assert_allclose(mass.mean(), [3700.662252, 3733.088235, 5076.016260], rtol=1e-9)
        np.testing.assert_allclose(mass.median(), [3700, 3700, 5000])
        by_sex = self.penguins.pivot_table("body_mass_g", "species", "sex")
        np.testing.assert_allclose(by_sex.loc["Gentoo"], [4679.741379, 5484.836066], rtol=1e-9)

    def test_join(self):
        latitudes = pd.DataFrame(
            {"island": ["Biscoe", "Dream", "Torgersen"], "latitude": [-65.43, -64.73, -64.77]}
        )
        joined = self.penguins.merge(latitudes, on="island", validate="many_to_one")
        self.assertEqual((joined.latitude == -65.43).sum(), 168)

    def test_correlation(self):
        numbers = self.penguins[["flipper_length_mm", "body_mass_g"]]
        self.assertAlmostEqual(numbers.corr().iloc[0, 1], 0.8712018, places=7)

    def test_time(self):
        hours = pd.date_range("2024-03-30", "2024-04-02", freq="h", tz="Europe/Berlin", inclusive="left")
        # Daylight saving began on the second day.
        self.assertEqual(pd.Series(1, hours).resample("D").sum().tolist(), [24, 23, 24])

    def test_write(self):
        for name, write, read in (
            ("csv", pd.DataFrame.to_csv, pd.read_csv),
            ("json", pd.DataFrame.to_json, pd.read_json),
            ("pickle", pd.DataFrame.to_pickle, pd.read_pickle),
            ("csv.gz", pd.DataFrame.to_csv, pd.read_csv),
        ):
            with self.subTest(name):
                write(self.penguins, f"/work/penguins.{name}")
                self.assertEqual(read(f"/work/penguins.{name}").body_mass_g.sum(), 1437000)

    def test_sql(self):
        with sqlite3.connect("/tmp/penguins.db") as database:
            self.penguins.to_sql("penguins", database, index=False)
            heavy = pd.read_sql("SELECT species FROM penguins WHERE body_mass_g > 6000", database)
        self.assertEqual(heavy.species.tolist(), ["Gentoo", "Gentoo"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
