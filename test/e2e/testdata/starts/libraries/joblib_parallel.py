import joblib

print(joblib.Parallel(2)(joblib.delayed(abs)(v) for v in (-1, -2)), joblib.cpu_count(), joblib.hash([1, 2]))
