import sklearn
from sklearn import get_config, metrics

print(sorted(get_config().items()), metrics.accuracy_score([1, 0], [1, 1]))
