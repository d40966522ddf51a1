import numpy as np
from sklearn.cluster import KMeans
import threadpoolctl

print(sorted((p['internal_api'], p['num_threads']) for p in threadpoolctl.threadpool_info()))
print(KMeans(2, n_init=1, random_state=0).fit(np.arange(20.0).reshape(10, 2)).labels_)
