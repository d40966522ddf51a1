import random
import numpy
import uuid
random.seed(7)
numpy.random.seed(7)
print(random.random(), numpy.random.rand(3), numpy.random.default_rng(3).normal(size=2))
