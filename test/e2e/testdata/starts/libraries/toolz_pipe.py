import toolz
from fsspec.implementations.memory import MemoryFileSystem

print(toolz.pipe(3, str, list), MemoryFileSystem().ls('/'))
