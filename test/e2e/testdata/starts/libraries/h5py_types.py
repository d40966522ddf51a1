import h5py

print(h5py.string_dtype(), h5py.h5z.filter_avail(1), h5py.version.hdf5_version)
