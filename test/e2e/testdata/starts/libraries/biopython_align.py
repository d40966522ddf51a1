from Bio import Align, SeqIO
from io import StringIO

print(Align.PairwiseAligner().score('GATTACA', 'GATCA'), [r.id for r in SeqIO.parse(StringIO('>a\nAC\n>b\nGT\n'), 'fasta')])
