import numpy as np
from sklearn.ensemble import RandomForestRegressor

x = np.arange(200.0).reshape(50, 4)
print(RandomForestRegressor(5).fit(x, x.sum(1)).feature_importances_.tolist())
