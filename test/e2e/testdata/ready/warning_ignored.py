import warnings
warnings.simplefilter("ignore")
import imp
print(imp.__name__, warnings.filters[0])
