import random
import secrets
import tempfile
import uuid
import numpy
random.seed(1), numpy.random.seed(2)
print(random.random(), numpy.random.rand(), numpy.random.default_rng(3).random(), numpy.random.normal(size=3))
print(type(numpy.random.mtrand._rand), len(tempfile.mkdtemp()), len(str(uuid.uuid4())), len(secrets.token_bytes()))
with numpy.errstate(all="warn"):
    print(numpy.geterr(), hash("text"), {"a", "b", "c", "d"})
