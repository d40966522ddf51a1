import warnings
warnings.warn("from the script", DeprecationWarning)
warnings.warn("once more")
print(warnings.filters)
