import pandas as pd
from scipy import stats
frame = pd.DataFrame({"a": range(20), "b": [x * 2 + x % 3 for x in range(20)]})
print(frame.describe(), stats.ttest_ind(frame.a, frame.b))
frame.to_csv("table.csv")
