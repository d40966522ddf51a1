import matplotlib.pyplot as plt
import seaborn as sns

sns.set_theme()
print(plt.rcParams['axes.facecolor'], plt.rcParams['font.family'], sns.plotting_context()['font.size'])
