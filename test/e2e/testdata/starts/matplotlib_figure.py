import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(2, 1))
axes.plot([0, 1, 4])
figure.savefig('figure.png', metadata={'Software': None})
print(plt.rcParams['savefig.dpi'], plt.get_backend(), plt.isinteractive(), axes.get_xlim())
