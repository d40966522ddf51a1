import numpy as np
import pandas as pd

print(pd.Series(range(10 ** 6)).sample(3).tolist())
print(pd.DataFrame(np.random.rand(2, 2)).to_numpy().tolist())
