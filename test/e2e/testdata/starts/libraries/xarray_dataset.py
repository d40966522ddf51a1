import numpy as np
import xarray as xr

d = xr.Dataset({'v': ('t', np.arange(3.0))}, coords={'t': [1, 2, 3]})
print(d.sel(t=2).v.item(), sorted(xr.backends.list_engines()))
