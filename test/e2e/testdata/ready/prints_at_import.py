import this
print("after", this.__name__)
