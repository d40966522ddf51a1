import sympy
from sympy.core.random import random

print(random())
print(sympy.randprime(1, 10 ** 12))
print(sympy.randMatrix(4))
