import numpy as np

print(np.geterr(), np.get_printoptions()['precision'], np.random.default_rng(7).random(3))
print(np.array([1, 0]) / np.array([2.5, 3.5]))
