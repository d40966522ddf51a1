import joblib

print(joblib.Memory('cache', verbose=0).cache(abs)(-4))
joblib.dump([1], 'a.joblib')
