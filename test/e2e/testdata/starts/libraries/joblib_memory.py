import joblib

print(joblib.Memory('/tmp/cache', verbose=0).cache(abs)(-4))
joblib.dump([1], 'a.joblib')
