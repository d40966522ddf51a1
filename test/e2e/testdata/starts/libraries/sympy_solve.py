import sympy
from sympy.abc import x

print(sympy.solve(x ** 2 - 2), sympy.integrate(sympy.exp(-x ** 2), (x, 0, sympy.oo)), sympy.factorint(2 ** 31))
