import h5py
import numpy as np

with h5py.File('a.h5', 'w') as f:
    f.create_dataset('x', data=np.arange(10), compression='gzip', track_times=False)
with h5py.File('a.h5') as f:
    print(f['x'][:], list(f), h5py.get_config().default_file_mode if hasattr(h5py.get_config(), 'default_file_mode') else 'r')
