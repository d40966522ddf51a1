import sympy

m = sympy.Matrix([[1, 2], [3, 4]])
print(m.eigenvals(), m.inv(), sympy.series(sympy.sin(sympy.Symbol('x')), n=6))
