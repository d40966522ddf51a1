import pandas as pd
import patsy

print(patsy.dmatrix('C(g)', pd.DataFrame({'g': list('aab')})).tolist())
