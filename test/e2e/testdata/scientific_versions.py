"""Every library of the image scientific at work, a little of each."""

import json
import subprocess
from importlib.metadata import version

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import optimize
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

names = ["numpy", "pandas", "scipy", "matplotlib", "scikit-learn", "statsmodels", "nbconvert", "ipykernel"]
print(json.dumps({name: version(name) for name in names}))

a = np.random.default_rng(7).normal(size=(200, 200))
assert np.allclose(np.linalg.inv(a) @ a, np.eye(200))

table = pd.DataFrame({"when": pd.date_range("2026-01-01", periods=4), "x": [0.1, np.nan, 3, 4], "word": list("äbcd")})
table.to_csv("table.csv", index=False)
pd.testing.assert_frame_equal(pd.read_csv("table.csv", parse_dates=["when"]), table)

assert abs(optimize.brentq(np.cos, 0, 3) - np.pi / 2) < 1e-9

iris = load_iris()
forest = RandomForestClassifier(n_estimators=20, random_state=0, n_jobs=2).fit(iris.data[::2], iris.target[::2])
assert forest.score(iris.data[1::2], iris.target[1::2]) > 0.9

x = np.arange(50.0)
fit = sm.OLS(3 + 2 * x + np.sin(x), sm.add_constant(x)).fit()
assert abs(fit.params[1] - 2) < 0.01 and "R-squared" in fit.summary().as_text()

plt.plot(x, fit.resid)
plt.title("Rückstände")
plt.savefig("plot.png")
plt.savefig("plot.pdf")

r = "fit <- lm(mpg ~ wt, mtcars); cat(coef(fit)[[2]]); png('r.png'); plot(mtcars$wt, mtcars$mpg); invisible(dev.off())"
slope = subprocess.run(["Rscript", "-e", r], check=True, capture_output=True, text=True).stdout
assert abs(float(slope) + 5.344472) < 1e-6, slope
