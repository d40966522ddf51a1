import warnings
warnings.simplefilter("error")
import imp
