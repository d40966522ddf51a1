import threading
import os
import concurrent.futures
import queue
import asyncio
m = threading.main_thread()
print(m.ident == threading.get_ident(), m.native_id == threading.get_native_id() == os.getpid(), m.daemon, m.name, repr(m).split()[0], threading.enumerate() == [m], threading._active.keys() == {m.ident}, m.is_alive())
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    print(list(pool.map(lambda x: x * x, range(5))))
async def go():
    await asyncio.sleep(0.01)
    p = await asyncio.create_subprocess_exec("echo", "child", stdout=-1)
    return (await p.communicate())[0]
print(asyncio.run(go()))
pool = concurrent.futures.ThreadPoolExecutor(2)
pool.submit(lambda: print("in the pool"))
