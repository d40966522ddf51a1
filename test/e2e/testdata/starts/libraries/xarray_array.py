import numpy as np
import xarray as xr

a = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=('x', 'y'), coords={'x': [1, 2]})
print(a.mean('y'), xr.get_options()['display_width'])
