import numpy as np
from scipy import integrate, optimize, sparse

found = optimize.minimize(lambda x: ((x - 3) ** 2).sum(), np.zeros(3))
print(found.x.round(5), integrate.quad(np.sin, 0, np.pi)[0], sparse.eye(3).sum())
