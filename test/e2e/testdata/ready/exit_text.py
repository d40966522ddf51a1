import sys
sys.exit("the text of an exit")
