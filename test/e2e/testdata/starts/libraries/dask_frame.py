import dask.dataframe as dd
import pandas as pd

frame = dd.from_pandas(pd.DataFrame({'a': range(10), 'g': list('ab') * 5}), npartitions=2)
print(frame.groupby('g').a.sum().compute())
