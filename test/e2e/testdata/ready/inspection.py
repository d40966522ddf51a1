import inspect
import traceback
print([(f.filename, f.function, f.lineno) for f in inspect.stack()])
traceback.print_stack()
print(inspect.getsource(inspect.currentframe()).count("\n"), inspect.getmodule(inspect.currentframe()).__name__)
