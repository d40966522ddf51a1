import imp
print(imp.__name__)
