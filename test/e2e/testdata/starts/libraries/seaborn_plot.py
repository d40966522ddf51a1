import pandas as pd
import seaborn as sns

axes = sns.barplot(data=pd.DataFrame({'a': list('xy'), 'b': [1, 2]}), x='a', y='b')
axes.figure.savefig('bar.png', metadata={'Software': None})
print(sns.color_palette()[0], axes.get_ylim())
