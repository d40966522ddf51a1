import numpy as np

a = np.arange(400 * 400, dtype=float).reshape(400, 400) % 17
print(np.linalg.det(a[:5, :5]), np.linalg.svd(a)[1][:3].round(6), (a @ a).sum())
np.save('a.npy', a)
