import pandas as pd

frame = pd.DataFrame({'g': list('aab'), 'v': [1.5, 2, 3]}, index=pd.date_range('2020-01-31', periods=3, freq='M'))
frame.groupby('g').agg(['mean', 'sum']).to_csv('groups.csv')
print(frame.resample('Y').sum(numeric_only=True), pd.get_option('display.max_rows'), pd.get_option('mode.chained_assignment'))
