from sklearn.model_selection import train_test_split
from sklearn.utils import shuffle

print(train_test_split(list(range(100)))[1])
print(shuffle(list(range(50))))
