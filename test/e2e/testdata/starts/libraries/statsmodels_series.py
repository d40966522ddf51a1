import numpy as np
from statsmodels.tsa.stattools import acf

print(acf(np.arange(20.0), nlags=3).round(6))
