import sys
print(__name__, __file__, __doc__, __package__, __spec__, __builtins__, sorted(globals()), type(__loader__).__name__)
print(sys.modules["__main__"].__dict__ is globals(), sys.argv[0] == __file__)
if __name__ == "__main__":
    print("main")
