import numpy as np
import seaborn.algorithms as algorithms

print(algorithms.bootstrap(np.arange(50.0), n_boot=5).tolist())
