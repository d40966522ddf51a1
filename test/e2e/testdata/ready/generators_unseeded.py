import random
import numpy
print(len({random.random() for _ in range(50)}), len(set(numpy.random.rand(50))), numpy.random.get_state()[0], random.getstate()[0])
