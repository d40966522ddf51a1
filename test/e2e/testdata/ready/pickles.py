import pickle
import sys


class Mine:
    pass


print(pickle.dumps(Mine()), pickle.loads(pickle.dumps(Mine())).__class__ is Mine, sys.modules["__main__"].Mine is Mine)
