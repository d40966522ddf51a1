from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

x, y = load_iris(return_X_y=True)
print(make_pipeline(StandardScaler(), PCA(2)).fit_transform(x)[:3].round(6))
