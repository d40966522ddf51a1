import matplotlib.pyplot as plt
print(plt.get_fignums())
fig, axes = plt.subplots()
print(plt.get_backend())
