import os
out = open("unclosed.txt", "w")
out.write("written without a close")
print(os.listdir("."))
