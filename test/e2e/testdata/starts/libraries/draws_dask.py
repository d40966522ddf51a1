import dask.array as da

print(da.random.random(4, chunks=4).compute().tolist())
print(da.random.normal(size=3, chunks=3).compute().tolist())
