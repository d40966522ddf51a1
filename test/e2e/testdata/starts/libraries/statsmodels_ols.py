import numpy as np
import statsmodels.api as sm

x = sm.add_constant(np.arange(10.0))
print(sm.OLS(np.arange(10.0) ** 2, x).fit().params.round(6))
