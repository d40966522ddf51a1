import asyncio, csv, decimal, sqlite3

db = sqlite3.connect('a.db')
db.execute('create table t (v)')
db.executemany('insert into t values (?)', [(1,), (2,)])
print(db.execute('select sum(v) from t').fetchone(), decimal.getcontext(), csv.list_dialects())


async def main():
    await asyncio.sleep(0)
    return 'ran'


print(asyncio.run(main()))
