from Bio import Phylo
from io import StringIO

print(Phylo.read(StringIO('((a,b),c);'), 'newick').count_terminals())
