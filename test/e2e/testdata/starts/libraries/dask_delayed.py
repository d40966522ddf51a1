import dask
import dask.array as da

print(dask.delayed(sum)([1, 2]).compute(), da.arange(10, chunks=5).sum().compute(), dask.config.get('scheduler', None))
