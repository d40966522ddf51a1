import matplotlib
matplotlib.use('svg')
import matplotlib.pyplot as plt

plt.plot([1, 2])
print(plt.get_backend(), matplotlib.get_backend())
