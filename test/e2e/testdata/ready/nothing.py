print("nothing at all")
