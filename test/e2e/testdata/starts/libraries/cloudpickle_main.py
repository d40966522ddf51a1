import cloudpickle
import pickle

print(pickle.loads(cloudpickle.dumps(lambda x: x + 1))(2))
