from Bio.Seq import Seq
from Bio.SeqUtils import MeltingTemp

s = Seq('ATGGCCATTGTAATG')
print(s.translate(), s.reverse_complement(), round(MeltingTemp.Tm_NN(s), 4))
