import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
print(matplotlib.get_backend(), plt.get_fignums(), matplotlib.rcParams["svg.hashsalt"], matplotlib.rcParams["backend"])
plt.plot([1, 3, 2])
plt.savefig("plot.svg", metadata={"Date": None})
plt.savefig("plot.png")
