import random, secrets, uuid, tempfile, multiprocessing

print(random.random(), random.Random().random())
print(uuid.uuid4(), secrets.token_hex(8))
print(tempfile.mkdtemp())
print(bytes(multiprocessing.current_process().authkey).hex())
