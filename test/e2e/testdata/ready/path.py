import os
import sys
print(sys.path, sorted(sys.path_importer_cache), len(sys.path_hooks), [getattr(f, "__name__", type(f).__name__) for f in sys.meta_path], os.getcwd(), sys.prefix, sys.executable)
