import numpy as np

print(np.random.rand(3))
print(np.random.default_rng().integers(1 << 60, size=2))
print(np.random.RandomState().randint(1 << 30))
