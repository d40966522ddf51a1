import inspect, pathlib, pickle, sys


class Own:
    pass


print(pickle.loads(pickle.dumps(Own())).__class__, sys.path[0], __file__, sys.argv, inspect.getsource(Own))
print(sorted(name for name in globals() if not name.startswith('__')), sorted(path.name for path in pathlib.Path('.').iterdir()))
