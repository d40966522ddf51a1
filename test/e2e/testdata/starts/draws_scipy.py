import scipy.stats
from scipy.stats import qmc

print(scipy.stats.norm.rvs(size=2))
print(qmc.Sobol(2, seed=None).random(1))
print(qmc.Halton(2).random(1))
