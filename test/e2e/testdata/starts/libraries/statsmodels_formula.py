import pandas as pd
import statsmodels.formula.api as smf

frame = pd.DataFrame({'x': range(10), 'y': [v * v for v in range(10)]})
print(smf.ols('y ~ x', frame).fit().rsquared.round(9))
