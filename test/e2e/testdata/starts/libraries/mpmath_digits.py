import mpmath

mpmath.mp.dps = 40
print(mpmath.zeta(3), mpmath.mp)
